"""What figures were measured on, so that others can judge them."""

import contextlib
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from bench.soak.samples import Pressure

SETTINGS = ("server_version", "fsync", "synchronous_commit", "full_page_writes", "shared_buffers")


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


def _find_line(file: Path, name: str) -> str | None:
    """The value of the first line of a file of the system that has this name; none where there is no such file."""
    with contextlib.suppress(OSError):
        for line in file.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()
    return None
