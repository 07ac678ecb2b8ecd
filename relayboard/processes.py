"""The processes of a running service: API processes on one socket and a worker, watched by their parent."""

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

logger = logging.getLogger("relayboard.processes")

STOP_TIMEOUT_SECONDS = 30.0
RESTART_PAUSE_SECONDS = 1.0
LIFELINE = "RELAYBOARD_LIFELINE_FD"
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


@dataclass(slots=True)
class Child:
    """One process to keep running: its name, its command, and the file descriptors it inherits."""

    name: str
    command: Sequence[str]
    descriptors: tuple[int, ...] = ()
    log: Path | None = None
    process: subprocess.Popen[bytes] | None = None


@dataclass(slots=True)
class Supervisor:
    """Starts children, restarts those that die, and stops all of them together.

    The children hold the reading end of a pipe; when the supervisor dies, however it dies, the pipe closes and they
    stop by themselves (see `follow_lifeline`). They share a folder of metrics, so that each shows those of all.
    """

    children: list[Child]
    stopping: threading.Event = field(default_factory=threading.Event)
    _lifeline: tuple[int, int] = (-1, -1)
    _metrics_folder: str = ""

    def run(self) -> int:
        """Keep the children running until `stop` is called; returns 0 after a clean stop."""
        with tempfile.TemporaryDirectory(prefix="relayboard-metrics-") as folder:
            self._metrics_folder = os.environ.get(METRICS_FOLDER, folder)
            return self._watch()

    def _watch(self) -> int:
        self._lifeline = os.pipe()
        for child in self.children:
            self._start(child)
        while not self.stopping.wait(0.2):
            for child in self.children:
                if child.process is not None and child.process.poll() is not None:
                    logger.error("%s ended with status %s; starting it again", child.name, child.process.returncode)
                    if not self.stopping.wait(RESTART_PAUSE_SECONDS):
                        self._start(child)
        return self._stop_children()

    def stop(self) -> None:
        self.stopping.set()

    def _start(self, child: Child) -> None:
        reading, _ = self._lifeline
        environment = {**os.environ, LIFELINE: str(reading), METRICS_FOLDER: self._metrics_folder}
        with _opened_log(child.log) as log:
            child.process = subprocess.Popen(
                child.command,
                pass_fds=(reading, *child.descriptors),
                env=environment,
                stderr=log,
                start_new_session=True,
            )

    def _stop_children(self) -> int:
        running = [child.process for child in self.children if child.process is not None]
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
        for process in running:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                logger.error("process %s did not stop in time and is killed", process.pid)
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        for end in self._lifeline:
            os.close(end)
        return 0


@contextlib.contextmanager
def _opened_log(path: Path | None) -> Iterator[IO[bytes] | None]:
    """Where a child's log goes: to the end of a file, or with everybody else's to stderr."""
    if path is None:
        yield None
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        yield file


def follow_lifeline() -> None:
    """In a child: end as by SIGTERM when the supervisor is gone. Does nothing in a process without one."""
    descriptor = os.environ.get(LIFELINE)
    if descriptor is None:
        return

    def wait() -> None:
        with contextlib.suppress(OSError):
            os.read(int(descriptor), 1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="lifeline", daemon=True).start()


@contextlib.contextmanager
def stopped_by_signals(supervisor: Supervisor) -> Iterator[None]:
    """SIGINT and SIGTERM stop the supervisor's children cleanly."""

    def stop(_number: int, _frame: object) -> None:
        supervisor.stop()

    previous = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket that API processes share."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(2048)
    listener.set_inheritable(True)
    return listener


def service_children(
    listener: socket.socket, api_processes: int, *, with_worker: bool, log: Path | None = None
) -> list[Child]:
    """The processes of `relayboard serve`."""
    descriptor = listener.fileno()
    # Warnings of libraries about each other's future are for developers, not for operators.
    python = [sys.executable, "-W", "ignore::DeprecationWarning", "-W", "ignore::UserWarning", "-m"]
    api = [*python, "relayboard.api_process", str(descriptor)]
    children = [Child(f"API process {number}", api, (descriptor,), log) for number in range(1, api_processes + 1)]
    if with_worker:
        children.append(Child("worker", [*python, "relayboard", "worker"], log=log))
    return children
