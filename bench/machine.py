"""What figures were measured on, so that others can judge them."""

import contextlib
import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.pool import NullPool

SETTINGS = ("server_version", "fsync", "synchronous_commit", "full_page_writes", "shared_buffers")

BACKENDS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
NAMED = f"{BACKENDS} AND application_name = :name"


@contextmanager
def describe_run(module: str, arguments: Sequence[str], rounds: int) -> Iterator[dict[str, Any]]:
    """What all results of a benchmark tell (results.schema.json): the machine, the day, the command, its
    rounds, and at the end of the block the share of its time in which some process waited for a processor.
    """
    pressure = Pressure()
    results: dict[str, Any] = {
        "machine": describe_machine(),
        "measured_on": datetime.now(UTC).date().isoformat(),
        "command": tell_command(module, arguments),
        "rounds": rounds,
    }
    yield results
    results["waited"] = pressure.take()


def tell_command(module: str, arguments: Sequence[str]) -> str:
    """The command that measures the same elsewhere: without the server, which only this machine has."""
    told = [
        each
        for before, each in zip(["", *arguments], arguments, strict=False)
        if each != "--write" and before != "--server" and not each.startswith("--server")
    ]
    return " ".join([f"python -m {module}", *told])


def tell_machine(results: Mapping[str, Any]) -> str:
    """The machine, its PostgreSQL and what else it did, in two sentences."""
    machine, postgresql = results["machine"], results["postgresql"]
    return (
        f"{machine['processors']} processors ({machine['processor']}), {machine['memory_mb']:,} MB of memory, "
        f"{machine['system']}, Python {machine['python']}, PostgreSQL {postgresql['server_version']} with\n"
        f"fsync {postgresql['fsync']}. {machine['load']:g} processes wanted a processor when the run began, and some "
        f"process waited for one {results['waited']:.0%} of\n"
        "the time, which makes every figure larger than on a quiet machine."
    )


def describe_machine() -> dict[str, Any]:
    """Processors, memory in MB, system, Python, and how many processes wanted a processor in the last minute."""
    return {
        "processor": _find_line(Path("/proc/cpuinfo"), "model name") or platform.processor() or "unknown",
        "processors": os.cpu_count() or 1,
        "memory_mb": int((_find_line(Path("/proc/meminfo"), "MemTotal") or "0 kB").split()[0]) // 1024,
        "system": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }


def describe_server(url: str) -> Mapping[str, str]:
    """The version of the PostgreSQL server, and what it does so that nothing is lost."""
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        return {name: str(connection.execute(text(f"SHOW {name}")).scalar_one()) for name in SETTINGS}


class Pressure:
    """How much processes of this machine wait for a processor; of a system that does not tell, nothing is known."""

    def __init__(self) -> None:
        self._last = (time.monotonic(), _waited_seconds())

    def take(self) -> float:
        """The share of the time since the last call in which some process waited, from 0 to 1."""
        (before, waited), self._last = self._last, (time.monotonic(), _waited_seconds())
        return round(min(1.0, (self._last[1] - waited) / max(self._last[0] - before, 0.001)), 3)


class Meter:
    """Reads the clocks of an API process and of the server processes of its connections, on this machine: of all
    connections to the database, or of those with an application name.
    """

    def __init__(self, api_pid: int, database_url: str, application_name: str | None = None) -> None:
        self._api_pid = api_pid
        self._name = application_name
        self._engine: Engine = create_engine(database_url, poolclass=NullPool)

    def find_backends(self) -> Sequence[int]:
        """The server processes of the connections that there are."""
        with self._engine.connect() as connection:
            statement = BACKENDS if self._name is None else NAMED
            return connection.execute(text(statement), {"name": self._name} if self._name else {}).scalars().all()

    def read(self, backends: Sequence[int] | None = None) -> tuple[float, float]:
        """Milliseconds of CPU time so far: of the API process, and of PostgreSQL, if known in these processes."""
        found = self.find_backends() if backends is None else backends
        return spent_ms(self._api_pid), sum(spent_ms(pid) for pid in found)


def spent_ms(pid: int) -> float:
    """The CPU time of all threads of a process; 0 for one that has ended."""
    spent = 0
    for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            spent += int(thread.read_text().split()[0])
        except OSError:  # the thread has just ended
            continue
    return spent / 1e6


def ask(session: requests.Session, url: str) -> int:
    """The status of a response, which is read to its end; 503 for what takes the database too long."""
    response = session.get(url, timeout=600)
    path = urlsplit(url).path
    if response.status_code not in (200, 400, 404, 503):
        raise RuntimeError(f"{path} was answered with {response.status_code}: {response.text[:300]}")
    return response.status_code


def _find_line(file: Path, name: str) -> str | None:
    """The value of the first line of a file of the system that has this name; none where there is no such file."""
    with contextlib.suppress(OSError):
        for line in file.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()
    return None


def _waited_seconds() -> float:
    with contextlib.suppress(OSError):
        return int(Path("/proc/pressure/cpu").read_text().split("total=", 1)[1].split()[0]) / 1e6
    return 0.0
