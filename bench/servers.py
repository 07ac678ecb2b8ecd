"""The servers of a benchmark, ours and the bare ASGI application, each one process on its own port; and its end."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from relayboard.processes import listen

WAIT_SECONDS = 120.0


@dataclass(slots=True)
class Servers:
    """Base URLs of the servers by name."""

    urls: dict[str, str] = field(default_factory=dict)


@contextlib.contextmanager
def running_servers(environment: dict[str, str], folder: Path) -> Iterator[Servers]:
    """Start the servers, wait until each answers, and stop them at the end."""
    started: list[subprocess.Popen[bytes]] = []
    servers = Servers()
    probes = {"relayboard": "/health/ready", "bare": "/messages"}
    try:
        for name, command in _commands().items():
            listener = listen("127.0.0.1", 0)
            descriptor, port = listener.fileno(), listener.getsockname()[1]
            log = (folder / f"{name}.log").open("wb")
            started.append(
                subprocess.Popen(
                    [part.format(fd=descriptor) for part in command],
                    env={**os.environ, **environment, "PYTHONPATH": os.getcwd()},
                    pass_fds=(descriptor,),
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )
            log.close()
            listener.close()
            servers.urls[name] = f"http://127.0.0.1:{port}"
        for name, url in servers.urls.items():
            wait_for(url + probes[name], folder / f"{name}.log")
        yield servers
    finally:
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait(30)


def wait_for(url: str, log: Path) -> None:
    pause = threading.Event()
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            with urllib.request.urlopen(url, timeout=20):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError) as error:
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"{url} does not answer: {error}; its log says:\n{log.read_text()[-2000:]}"
                ) from error
            pause.wait(0.2)


@contextmanager
def ended_by_signals(stopping: threading.Event) -> Iterator[None]:
    """Signals to end only set `stopping` meanwhile, if this is the thread that may say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)

    def follow() -> None:
        if os.read(reading, 1) != b"\0":
            stopping.set()

    # A handler must not do it: this thread may hold the event's lock just then.
    follower = threading.Thread(target=follow, name="signals", daemon=True)
    follower.start()
    before = [signal.signal(number, _do_nothing) for number in numbers]
    woken = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(woken)
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
        os.write(writing, b"\0")
        follower.join()
        os.close(reading)
        os.close(writing)


def _commands() -> dict[str, list[str]]:
    return {
        "relayboard": [sys.executable, "-m", "relayboard.api_process", "{fd}"],
        "bare": [sys.executable, "-m", "bench.bare_app", "{fd}"],
    }


def _do_nothing(_number: int, _frame: object) -> None:
    """What the signal has written is enough."""
