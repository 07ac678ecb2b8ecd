"""The processes of a running service: API processes on one socket and a worker, supervised by their parent."""

import contextlib
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

logger = logging.getLogger("relayboard.processes")

STOP_TIMEOUT_SECONDS = 30.0
LOOK_SECONDS, SHORT_LOOK_SECONDS = 0.2, 0.02
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 15.0
STEADY_SECONDS = 60.0
"""A child that has worked for this long counts as started successfully."""
ENDS_IN_A_ROW = 8
CANNOT_START = 78
"""The exit status (EX_CONFIG) of a child that cannot start, which trying again would not change."""
LIFELINE = "RELAYBOARD_LIFELINE_FD"
READY = "RELAYBOARD_READY_FD"
BEGIN = "RELAYBOARD_BEGIN_FD"
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
FROM_OUTSIDE = (-signal.SIGKILL, -signal.SIGTERM)
KILLED_STATUS = 128
"""With the number of a signal it is the exit status that shells give a process ended by it."""


class Process(Protocol):
    """As much of `subprocess.Popen` as a supervisor needs."""

    pid: int

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def send_signal(self, sig: int) -> None: ...


@dataclass(slots=True)
class Child:
    """One process to keep running: its name, its command, and the file descriptors it inherits. It is started once the
    child `after` it is ready. If it is the main one, everything ends with it and with its status. One that `is_early`
    can be loaded before there is what it needs (see `Supervisor.begin`).
    """

    name: str
    command: Sequence[str] = ()
    descriptors: tuple[int, ...] = ()
    log: Path | None = None
    after: "Child | None" = None
    is_main: bool = False
    is_early: bool = False
    process: Process | None = None
    ends_in_a_row: int = 0
    start_again_at: float = 0.0
    ready_since: float | None = None
    ready_reading: int | None = None

    def launch(self, own: Mapping[str, str], inherited: Sequence[int], _closed: Sequence[int]) -> Process:
        """A new process with these variables of its own. It inherits these descriptors and has the others closed."""
        with _opened_log(self.log) as log:
            return subprocess.Popen(
                self.command,
                pass_fds=(*inherited, *self.descriptors),
                env={**os.environ, **own},
                stderr=log,
                start_new_session=True,
            )

    def kill(self, process: Process) -> None:
        """End the process by SIGKILL, with everything it started."""
        os.killpg(process.pid, signal.SIGKILL)

    def note_ready(self) -> None:
        """Check whether the process has reported that it works (see `tell_ready`)."""
        if self.ready_reading is None:
            return
        with contextlib.suppress(BlockingIOError):
            if os.read(self.ready_reading, 1):
                self.ready_since = time.monotonic()
            self.close_ready()

    def close_ready(self) -> None:
        if self.ready_reading is not None:
            os.close(self.ready_reading)
        self.ready_reading = None


@dataclass(slots=True)
class Supervisor:
    """Starts children, restarts those that die, and stops all of them together. A child that ends again and again is
    restarted with a growing back-off, and finally everything is stopped, so that the failure is visible from outside.
    The children hold the reading end of a pipe; if the supervisor dies for any reason, the pipe closes and they stop
    (see `follow_lifeline`); so does a supervisor that is itself the child of one. They share a folder of metrics, so
    that each of them shows those of all. `on_ready` is called once all have been ready. `stopped` is for other threads:
    from then on nothing is looked after.
    """

    children: list[Child]
    stopped: threading.Event = field(default_factory=threading.Event)
    first_pause_seconds: float = FIRST_PAUSE_SECONDS
    on_ready: Callable[[], None] | None = None
    _lifeline: tuple[int, int] = (-1, -1)
    _wake_up: tuple[int, int] = (-1, -1)
    _is_stopping: bool = False
    _metrics_folder: str = ""

    def run(self) -> int:
        """Keep the children running until `stop` is called; 0 after a clean stop, 1 when a child cannot be kept up, and
        the status of the main child if that has ended.
        """
        with contextlib.ExitStack() as place:
            if not self._metrics_folder:
                place.enter_context(self.opened())
            return self._watch()

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """The block in which children can be started. `run` opens it by itself if `begin` is not used."""
        with tempfile.TemporaryDirectory(prefix="relayboard-metrics-") as folder:
            self._metrics_folder = os.environ.get(METRICS_FOLDER, folder)
            self._lifeline, self._wake_up = os.pipe(), os.pipe()
            os.set_blocking(self._wake_up[1], False)
            try:
                yield
            finally:
                self.stopped.set()
                self._stop_children()
                ends, self._wake_up = (*self._lifeline, *self._wake_up), (-1, -1)
                for end in ends:
                    os.close(end)
                self._metrics_folder = ""

    def begin(self, prepare: Callable[[], None]) -> None:
        """Makes what the children need, while the early ones are loaded, which takes longer; these wait for it then
        (see `wait_for_begin`). If it raises an exception, they end with the block.
        """
        early = [child for child in self.children if child.is_early]
        reading, telling = os.pipe()
        try:
            for child in early:
                self._start(child, {BEGIN: str(reading)}, (reading,))
            prepare()
            os.write(telling, b"1" * len(early))
        finally:
            os.close(reading)
            os.close(telling)

    def _watch(self) -> int:
        status = None
        while status is None and not self._is_stopping:
            for child in self.children:
                status = self._look_after(child) if status is None else status
            if self.on_ready is not None and all(child.ready_since is not None for child in self.children):
                self.on_ready()
                self.on_ready = None
            if status is None and self._wait():
                self.stop()
        return status or 0

    def stop(self) -> None:
        """Also for handlers of signals, which must not take a lock: the thread that they interrupt could hold it."""
        self._is_stopping = True
        with contextlib.suppress(OSError):  # it is woken already, or nobody waits
            os.write(self._wake_up[1], b"!")

    def _wait(self) -> bool:
        """Waits a little, or until `stop` is called; returns whether the supervisor of this supervisor is gone."""
        is_waited_for = any(child.after is not None and child.ready_since is None for child in self.children)
        looking = select.poll()
        above = int(os.environ[LIFELINE]) if LIFELINE in os.environ else -1
        for descriptor in (self._wake_up[0], above):
            if descriptor >= 0:
                looking.register(descriptor, select.POLLIN)
        seconds = SHORT_LOOK_SECONDS if is_waited_for else LOOK_SECONDS
        return any(descriptor == above for descriptor, _ in looking.poll(seconds * 1000))

    def _look_after(self, child: Child) -> int | None:
        """Start a child, also one that has ended, when its back-off is over; a status if everything is to end."""
        child.note_ready()
        if child.process is None:
            is_awaited = child.after is None or child.after.ready_since is not None
            if is_awaited and time.monotonic() >= child.start_again_at:
                self._start(child)
            return None
        ended = child.process.poll()
        if ended is not None and child.is_main:
            child.process = None
            return ended if ended >= 0 else KILLED_STATUS - ended
        return None if ended is None or self._note_end(child, ended) else 1

    def _note_end(self, child: Child, ended: int) -> bool:
        if child.process is not None:
            forget_gauges(Path(self._metrics_folder), child.process.pid)
        child.process = None
        worked = 0.0 if child.ready_since is None else time.monotonic() - child.ready_since
        was_killed = child.ready_since is not None and ended in FROM_OUTSIDE
        if worked >= STEADY_SECONDS or was_killed:
            child.ends_in_a_row = 0
        child.ends_in_a_row += 1
        if ended == CANNOT_START:
            logger.error("%s cannot start; everything stops", child.name)
            return False
        if child.ends_in_a_row >= ENDS_IN_A_ROW:
            logger.error(
                "%s ended %s times in a row, the last time with status %s; everything stops",
                child.name,
                child.ends_in_a_row,
                ended,
            )
            return False
        pause = min(self.first_pause_seconds * 2 ** (child.ends_in_a_row - 1), LONGEST_PAUSE_SECONDS)
        child.start_again_at = time.monotonic() + pause
        logger.error("%s ended with status %s; it is started again in %.3g s", child.name, ended, pause)
        return True

    def _start(self, child: Child, more: Mapping[str, str] | None = None, passed: tuple[int, ...] = ()) -> None:
        reading, writing = self._lifeline
        child.close_ready()
        child.ready_since = None
        ready_reading, telling = os.pipe()
        child.ready_reading = ready_reading
        os.set_blocking(ready_reading, False)
        own = {LIFELINE: str(reading), READY: str(telling), METRICS_FOLDER: self._metrics_folder, **(more or {})}
        child.process = child.launch(own, (reading, telling, *passed), (writing, ready_reading))
        os.close(telling)

    def _stop_children(self) -> None:
        running = [(child, child.process) for child in self.children if child.process is not None]
        for _, process in running:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
        for child, process in running:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                logger.error("process %s did not stop in time and is killed", process.pid)
                with contextlib.suppress(ProcessLookupError):
                    child.kill(process)
                process.wait()
        for child in self.children:
            child.close_ready()


def forget_gauges(folder: Path, pid: int) -> None:
    """Deletes the gauges of a process that has ended; its counters stay."""
    for file in folder.glob(f"gauge_live*_{pid}.db"):
        file.unlink(missing_ok=True)


@contextlib.contextmanager
def _opened_log(path: Path | None) -> Iterator[IO[bytes] | None]:
    """The target of a child's log: the end of a file, or stderr like all others."""
    if path is None:
        yield None
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        yield file


def is_supervised() -> bool:
    """Whether this process is the child of a supervisor."""
    return LIFELINE in os.environ


def tell_ready() -> None:
    """In a child: report to the supervisor that it works. Does nothing in a process without a supervisor."""
    descriptor = os.environ.pop(READY, None)
    if descriptor is not None:
        with contextlib.suppress(OSError):
            os.write(int(descriptor), b"1")
            os.close(int(descriptor))


def wait_for_begin() -> bool:
    """In a child that was started early: wait until there is what it needs; False if that will not be, because the
    supervisor is gone. True at once in any other process.
    """
    descriptor = os.environ.pop(BEGIN, None)
    if descriptor is None:
        return True
    told = os.read(int(descriptor), 1)
    os.close(int(descriptor))
    return bool(told)


def follow_lifeline() -> None:
    """In a child: end as by SIGTERM when the supervisor is gone. Does nothing in a process without a supervisor."""
    descriptor = os.environ.get(LIFELINE)
    if descriptor is None:
        return

    def wait() -> None:
        with contextlib.suppress(OSError):
            os.read(int(descriptor), 1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="lifeline", daemon=True).start()


@contextlib.contextmanager
def stopped_by_signals(
    supervisor: Supervisor, numbers: Iterable[int] = (signal.SIGINT, signal.SIGTERM)
) -> Iterator[None]:
    """Until the block ends, these signals stop the supervisor's children cleanly."""

    def stop(_number: int, _frame: object) -> None:
        supervisor.stop()

    previous = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket that API processes share, on an IPv4 or IPv6 address or the first address of a host name."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError:
        listener.close()
        raise
    listener.set_inheritable(True)
    return listener


def url_of(host: str, port: int) -> str:
    """The URL of a service for people."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def service_children(
    listener: socket.socket, api_processes: int, *, with_worker: bool, log: Path | None = None
) -> list[Child]:
    """The processes of `relayboard serve`."""
    descriptor = listener.fileno()
    # -P: Python files in the working directory are not part of the program. Deprecation warnings of libraries are for
    # developers, not for operators.
    python = [sys.executable, "-P", "-W", "ignore::DeprecationWarning", "-W", "ignore::UserWarning", "-m"]
    api = [*python, "relayboard.api_process", str(descriptor)]
    children = [
        Child(f"API process {number}", api, (descriptor,), log, is_early=True) for number in range(1, api_processes + 1)
    ]
    if with_worker:
        children.append(Child("worker", [*python, "relayboard", "worker"], log=log))
    return children
