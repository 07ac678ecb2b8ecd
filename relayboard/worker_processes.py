"""The processes of `relayboard worker`: one that runs the jobs that somebody waits for, and senders, forked from a
parent that supervises them and does nothing else. They share the memory of the program, which was loaded before.
"""

import contextlib
import gc
import logging
import os
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from persistence.sql.engines import load_driver
from relayboard.base.settings import Settings, sqlite_file
from relayboard.base.tracing import tracing
from relayboard.failures import say_failure
from relayboard.processes import (
    CANNOT_START,
    Child,
    Process,
    Supervisor,
    follow_lifeline,
    is_supervised,
    stopped_by_signals,
    tell_ready,
)
from relayboard.waiting import SchemaWatch, leave_node, wait_until_usable
from worker.fairness import WakeUpPipe
from worker.jobs import BEHIND
from worker.process import END_SIGNALS, run_sender_process, run_worker_process

ALONE_SECONDS = 10.0
"""A worker without a supervisor gives up after this long without a database or a queue, and says why."""
POLL_SECONDS = 0.02

Shown = contextlib.AbstractContextManager[object]


def run_worker_processes(
    settings: Settings, threads: int, senders: int | None, show_metrics: Callable[[], Shown]
) -> int:
    """Runs a worker with so many senders until it is stopped; its exit status. Without senders there is one process,
    which does everything. None stands for as many as fit the machine.
    """
    if senders is None:
        senders = choose_senders(settings.database_url)
    patience_seconds = None if is_supervised() else ALONE_SECONDS
    if not senders:
        follow_lifeline()
        return _work(settings, threads, patience_seconds, show_metrics)
    pipe, pid = WakeUpPipe(BEHIND), os.getpid()

    def work() -> int:
        return _work(settings, threads, patience_seconds, show_metrics, pipe, pid)

    def send() -> int:
        with tracing(settings, "worker"):
            return run_sender_process(settings, pipe, on_ready=tell_ready)

    main = ForkedChild("jobs", work, is_main=True, failed=CANNOT_START if is_supervised() else 1)
    numbered = [f"sender {number}" for number in range(1, senders + 1)]
    behind = [ForkedChild(name, send, after=main) for name in numbered]
    supervisor = Supervisor([main, *behind], on_ready=tell_ready)
    load_driver(settings.database_url)
    # What is loaded is never garbage: a collection would only copy the pages that the processes share.
    gc.freeze()
    with contextlib.closing(pipe), stopped_by_signals(supervisor, END_SIGNALS):
        return supervisor.run()


def choose_senders(database_url: str) -> int:
    """None with SQLite, where only one process can write at a time."""
    return 1 if sqlite_file(database_url) is None else 0


def _work(
    settings: Settings,
    threads: int,
    patience_seconds: float | None,
    show_metrics: Callable[[], Shown],
    pipe: WakeUpPipe | None = None,
    pid: int | None = None,
) -> int:
    def prepare(signals: Collection[int]) -> None:
        wait_until_usable(settings, signals, patience_seconds)

    def begin() -> None:
        tell_ready()
        leave_node(settings)
        watch.start()

    watch = SchemaWatch(settings)
    with show_metrics(), tracing(settings, "worker"):
        status = run_worker_process(settings, threads, prepare=prepare, on_ready=begin, pipe=pipe, pid=pid)
    return 1 if watch.has_ended else status


@dataclass(slots=True)
class ForkedProcess:
    """A forked process; of those there is no `Popen`."""

    pid: int
    _status: int | None = None

    def poll(self) -> int | None:
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._status = os.waitstatus_to_exitcode(status) if pid else None
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        """Raises TimeoutExpired."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if deadline is not None and time.monotonic() >= deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
            time.sleep(POLL_SECONDS)
        return status

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)


class ForkedChild(Child):
    """A child that runs a function; `failed` is its status if that raises an exception. The parent must have no
    threads.
    """

    def __init__(
        self,
        name: str,
        main: Callable[[], int],
        *,
        after: Child | None = None,
        is_main: bool = False,
        failed: int = 1,
    ) -> None:
        super().__init__(name, after=after, is_main=is_main)
        self._main = main
        self._failed = failed

    def launch(self, own: Mapping[str, str], _inherited: Sequence[int], closed: Sequence[int]) -> Process:
        # Signals wait until the new process knows what to do with them.
        signal.pthread_sigmask(signal.SIG_BLOCK, END_SIGNALS)
        try:
            pid = os.fork()
            if not pid:
                self._become(own, closed)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, END_SIGNALS)
        return ForkedProcess(pid)

    def kill(self, process: Process) -> None:
        os.kill(process.pid, signal.SIGKILL)

    def _become(self, own: Mapping[str, str], closed: Sequence[int]) -> NoReturn:
        status = self._failed
        try:
            for descriptor in closed:
                os.close(descriptor)
            os.environ.update(own)
            follow_lifeline()
            status = self._main()
        except Exception as error:
            say_failure(error)
        finally:
            logging.shutdown()
            os._exit(status)
