"""What a service takes at a moment: memory, files, rows and bytes of its tables, and how long it lets people wait."""

import contextlib
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from sqlalchemy import text

from bench.faults.neighbors import percentile
from bench.soak.files import count_kinds
from bench.soak.traffic import Soaking

MEGABYTE = 1024 * 1024
TABLES = """
    SELECT coalesce(pg_partition_root(relid)::regclass::text, relname), sum(pg_total_relation_size(relid))::bigint
    FROM pg_stat_user_tables GROUP BY 1
"""
KEPT_FILES = 32
"""Each thread that calls the gateway or the receiver keeps its connection, two files each, and there are as many
threads as calls were made at once: of a webhook up to 8, of a gateway 8 at first and up to 96. They may come late.
"""
MESSAGES = "SELECT count(*) FROM message"


@dataclass(frozen=True)
class Sample:
    """`memory` is in MB and `files` counts open ones, both of all processes of a kind, `kinds` the open ones by what
    they are; `tables` are bytes; the p99s of the time since the last sample are in milliseconds. `waited` is the share
    of that time, from 0 to 1, in which some process of the machine waited for a processor.
    """

    minutes: float
    memory: Mapping[str, float]
    files: Mapping[str, int]
    tables: Mapping[str, int]
    messages: int
    p99: Mapping[str, float]
    kinds: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    waited: float = 0.0


class Pressure:
    """How much processes of this machine wait for a processor; of a system that does not tell, nothing is known."""

    def __init__(self) -> None:
        self._last = (time.monotonic(), _waited_seconds())

    def take(self) -> float:
        """The share of the time since the last call in which some process waited, from 0 to 1."""
        (before, waited), self._last = self._last, (time.monotonic(), _waited_seconds())
        return round(min(1.0, (self._last[1] - waited) / max(self._last[0] - before, 0.001)), 3)


def _waited_seconds() -> float:
    with contextlib.suppress(OSError):
        return int(Path("/proc/pressure/cpu").read_text().split("total=", 1)[1].split()[0]) / 1e6
    return 0.0


def take_sample(soaking: Soaking, minutes: float, pressure: Pressure) -> Sample:
    service = soaking.tenant.running
    ports = {soaking.outside.url: "gateway and receiver", service.url: "the API"}
    peers = {int(urlsplit(url).port or 0): name for url, name in ports.items()}
    families = {name: family(process.pid) for name, process in service.processes.items()}
    with service.database.reading() as tx:
        tables = {name: int(size) for name, size in tx.execute(text(TABLES))}
        messages = int(tx.execute(text(MESSAGES)).scalar_one())
    kinds = {name: sum((count_kinds(pid, peers) for pid in pids), Counter()) for name, pids in families.items()}
    waits = dict(zip(("request", "reply", "delivery"), soaking.take(), strict=True))
    return Sample(
        minutes,
        {name: round(sum(map(resident_bytes, pids)) / MEGABYTE, 1) for name, pids in families.items()},
        {name: found.total() for name, found in kinds.items()},
        tables,
        messages,
        {name: round(percentile(values, 99) * 1000, 1) for name, values in waits.items() if values},
        {name: dict(sorted(found.items())) for name, found in kinds.items()},
        pressure.take(),
    )


def family(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for one in found:
        with contextlib.suppress(OSError):
            for children in Path(f"/proc/{one}/task").glob("*/children"):
                found += map(int, children.read_text().split())
    return found


def resident_bytes(pid: int) -> int:
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")), 0)
    return 0


@dataclass(frozen=True)
class Growth:
    """A measure at the middle and at the end of a run, as medians of a third of the samples each."""

    name: str
    middle: float
    end: float
    allowed: float

    @property
    def is_flat(self) -> bool:
        return self.end <= self.allowed


def judge(samples: Sequence[Sample]) -> list[Growth]:
    """The first third of the samples warms up. Memory may grow by 10 % and 5 MB, open files by 5 % and those of the
    connections that are kept, a p99 by a half and 20 ms; and no table may need a quarter more room for each message
    than before (and 256 kB more). Of the p99s those of the quieter half of the samples of a third count,
    which are thirds of those in which the traffic could be made."""
    found = []
    for kind in sorted(samples[-1].memory):
        found.append(_compare(f"memory of the {kind} (MB)", [one.memory[kind] for one in samples], 1.1, 5))
        found.append(_compare(f"open files of the {kind}", [one.files[kind] for one in samples], 1.05, KEPT_FILES))
    for kind in sorted({kind for one in samples for kind in one.p99}):
        found.append(_compare_quiet(f"p99 of a {kind} (ms)", kind, samples))
    tables = sorted(samples[-1].tables, key=lambda name: -samples[-1].tables[name])
    return found + [_of_table(samples, name) for name in tables]


def _compare(name: str, values: Sequence[float | None], factor: float, more: float) -> Growth:
    third = len(values) // 3
    middle, end = (
        statistics.median([value for value in part if value is not None] or [0.0])
        for part in (values[third : 2 * third], values[2 * third :])
    )
    return Growth(name, middle, end, middle * factor + more)


def _compare_quiet(name: str, kind: str, samples: Sequence[Sample]) -> Growth:
    """The median p99 of the half of each third in which fewest processes of the machine waited."""
    steady = [one for one in steady_ones(samples) if kind in one.p99]
    third = len(steady) // 3
    quiet = []
    for part in (steady[third : 2 * third], steady[2 * third :]):
        ordered = sorted(part, key=lambda one: one.waited)
        quiet.append(statistics.median([one.p99[kind] for one in ordered[: len(ordered) // 2 + 1]] or [0.0]))
    return Growth(name, quiet[0], quiet[1], quiet[0] * 1.5 + 20)


def steady_ones(samples: Sequence[Sample]) -> list[Sample]:
    """Those with at least half as many messages as the fullest: in the others the machine had no time for the traffic,
    so that nothing can be said of how long it lets people wait.
    """
    before = [0, *(one.messages for one in samples)]
    made = [one.messages - earlier for one, earlier in zip(samples, before, strict=False)]
    return [one for one, number in zip(samples, made, strict=True) if number >= max(made) / 2]


def _of_table(samples: Sequence[Sample], name: str) -> Growth:
    """How many bytes a table grew in the second and the last third; the last for as many messages as the second."""
    third = len(samples) // 3
    at = [samples[place] for place in (third, 2 * third, -1)]
    sizes, messages = [one.tables.get(name, 0) for one in at], [one.messages for one in at]
    middle = sizes[1] - sizes[0]
    end = (sizes[2] - sizes[1]) * (messages[1] - messages[0]) / max(1, messages[2] - messages[1])
    return Growth(f"growth of the table {name} (kB)", middle / 1024, end / 1024, max(middle, 0) / 1024 * 1.25 + 256)
