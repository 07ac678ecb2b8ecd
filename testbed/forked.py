"""Processes of the service, forked from one that has imported the program, which saves one and a half seconds each. For
tests that kill and restart processes many times; a normal start is tested with commands.
"""

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from functools import cache
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.forkserver import ensure_running
from pathlib import Path

from relayboard import api_process, cli

ROOT = Path(__file__).parents[1]
_CONTEXT: ForkServerContext = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["testbed.uncollected", "testbed.preloaded"])


class ForkedProcess:
    """As much of `subprocess.Popen` as tests need."""

    def __init__(self, process: ForkServerProcess) -> None:
        self._process = process
        assert process.pid is not None
        self.pid = process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0.0)
        return self._process.exitcode

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        """End it by SIGKILL, with everything it started."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:  # it does not lead a process group yet, so it started nothing
            self._process.kill()


def fork(
    main: Callable[..., int | None], *arguments: object, environment: Mapping[str, str], log: Path | None = None
) -> ForkedProcess:
    """A process that runs `main`, whose result is its exit status, and writes to the log.

    `main` is a function of a module; arguments are pickled, and of a socket the process gets a copy.
    """
    _load_program()
    process = _CONTEXT.Process(target=_run, args=(main, arguments, dict(environment), log))
    process.start()
    return ForkedProcess(process)


@cache
def _load_program() -> None:
    """Starts the process from which others are forked. It looks for modules where it starts, and says nothing if it
    finds none; a test may have gone elsewhere.
    """
    with chdir(ROOT):
        ensure_running()


def run_api(listener: socket.socket) -> int:
    return api_process.main([str(listener.detach())])


def run_worker(*options: str) -> int:
    return cli.main(["worker", *options])


def _run(
    main: Callable[..., int | None], arguments: Sequence[object], environment: dict[str, str], log: Path | None
) -> None:
    os.setsid()
    if log is not None:
        written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for descriptor in (1, 2):
            os.dup2(written, descriptor)
    os.environ.clear()
    os.environ.update(environment)
    sys.exit(main(*arguments))
