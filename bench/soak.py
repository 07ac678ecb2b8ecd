"""`python -m bench.soak`: a steady day's traffic for hours, and whether anything grows.

Contacts write and a flow answers them, broadcasts go out, a campaign writes to those who get a date, a receiver gets
an event for each message, and people read lists: so many rounds per second. Samples show memory, open files, tables
and waits. The run fails (status 1) if one of them grows, or a request fails.
"""

import argparse
import contextlib
import json
import os
import re
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import select, text, update

from bench.faults.neighbors import percentile
from bench.machine import Pressure
from bench.plots import Panel
from bench.plots import draw as draw_panels
from bench.servers import ended_by_signals
from bench.tenants import GREETING, Tenant, service
from persistence.channels.channels import new_webhook_secret
from persistence.tables.channels import channel
from testbed.flow_rows import say
from testbed.quality_page import PAGE, write_section
from testbed.running import RunningService
from testbed.traffic import Outside

CONTACTS = 200
"""They write again and again: there are no new ones."""
NUMBER = re.compile(r"hello (\d+)")
CAMPAIGN_EVERY, LIST_EVERY = 5, 2
"""Every so many rounds a contact gets a new date, and somebody reads a list."""

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

LISTENING = "0A"
NAMELESS = ("socket:", "anon_inode:", "pipe:", "/memfd:")

MOST_TABLES = 5

SAMPLES = 60
STATE = Path("var") / "soak.json"
WHOLE_MINUTES, HOUR_MINUTES = 180.0, 60.0
LEAST_SECONDS, MOST_SECONDS = 0.5, 60.0
"""Between two samples."""
TEXT = """
<!-- not run: tests/quality/test_soak.py does it in small -->

    make soak

lets contacts write that a flow answers, sends broadcasts, lets a campaign write, delivers an event for each message
and reads lists, at a steady rate for three hours, on PostgreSQL. It fails if a request fails, or if something grows
between the second and the last third: memory by more than 10 % and 5 MB, open files by 5 % and 32, a p99 by half and
20 ms, a table's room for the same number of messages by a quarter and 256 kB. p99s are those of the quieter half of a
third, of samples in which at least half of the traffic could be made. A run that is told to end (Ctrl-C) is judged by
what it has.

The figures are of `python -m bench.soak --per-second {rate:g}` over {minutes:.1f} minutes: {rounds:,} rounds,
{requests:,} messages, on two processors that did other work too: some process waited for one {waited:.0%} of the
time, and half of the traffic could be made in {steady} of {samples} samples.{starved}{short} What was more than it
may be:{verdict}

![Memory, open files, waits and tables over time](soak.svg)

| Measure | Second third | Last third | May be |
|---|---|---|---|
{rows}

Of the {tables} tables, the five that grew most are shown.

The open files of the worker, which are most of them connections that are kept:

| What | First sample | Most | Last sample |
|---|---|---|---|
{kinds}
"""


class TimedOutside(Outside):
    """Gateway and receiver, which note when they got what the round of a number caused."""

    def __init__(self) -> None:
        self.replied: dict[int, float] = {}
        self.delivered: dict[int, float] = {}
        super().__init__()

    def _note(self, path: str, form: dict[str, list[str]]) -> None:
        found = NUMBER.search(form.get("text", [""])[0])
        if found:
            kept = self.replied if path.startswith("/send") else self.delivered
            kept.setdefault(int(found[1]), time.monotonic())


@dataclass(slots=True)
class Soaking:
    """The traffic on a service. `requests`, `replies` and `deliveries` are seconds that each took, since they were last
    taken away; `failed` are requests that were not answered as they should be.
    """

    tenant: Tenant
    outside: TimedOutside
    contacts: list[str] = field(default_factory=list)
    rounds: int = 0
    begun: dict[int, float] = field(default_factory=dict)
    requests: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def begin(cls, service: RunningService, contacts: int) -> "Soaking":
        outside = TimedOutside()
        tenant = Tenant.begin(service, "Soak", f"{outside.url}/send")
        tenant.answer_keyword(GREETING, [say("You wrote @input.text")])
        with service.database.writing() as tx:
            hook = {"webhook_url": f"{outside.url}/hook", "webhook_secret": new_webhook_secret()}
            mine = (channel.c.workspace_id == tenant.workspace.id) & (channel.c.id == tenant.channel_id)
            tx.execute(update(channel).where(mine).values(**hook))
            assert tx.execute(select(channel.c.id).where(mine)).scalar_one()
        soaking = cls(tenant, outside)
        soaking.prepare(contacts)
        return soaking

    def prepare(self, contacts: int) -> None:
        """Contacts, and a campaign that writes to them a minute after their date."""
        self.ask("fields", {"name": "Joined", "type": "datetime"})
        group = self.ask("groups", {"name": "Members"})["uuid"]
        campaign = self.ask("campaigns", {"name": "Follow-up", "group": group})["uuid"]
        event = {"relative_to": "joined", "offset": 1, "unit": "minutes", "delivery_hour": -1}
        self.ask("campaign_events", {**event, "campaign": campaign, "message": {"eng": "How are you?"}})
        for number in range(contacts):
            body = {"name": f"Contact {number}", "urns": [f"tel:{phone(number)}"], "groups": [group]}
            self.contacts.append(self.ask("contacts", body)["uuid"])
        assert not self.failed, self.failed[0]
        self.requests.clear()

    @contextmanager
    def flowing(self, per_second: float) -> Iterator[None]:
        thread = threading.Thread(target=self._run, args=(per_second,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.stopping.set()
            thread.join()

    def take(self) -> tuple[list[float], list[float], list[float]]:
        """The seconds of requests, replies and deliveries since the last time."""
        asked, self.requests = self.requests, []
        ways: list[list[float]] = []
        for came in (self.outside.replied, self.outside.delivered):
            known = {number: came.pop(number) for number in list(came)}
            ways.append([at - self.begun[number] for number, at in known.items() if number in self.begun])
        return asked, ways[0], ways[1]

    def ask(self, name: str, body: dict[str, Any] | None = None, **query: str) -> Any:
        """A request of the API; the record it answers with."""
        url = f"{self.tenant.running.url}/api/v2/{name}.json"
        headers = {"Authorization": f"Token {self.tenant.token}"}
        method = "GET" if body is None else "POST"
        return self._measured(method, url, json=body, params=query, headers=headers)

    def _run(self, per_second: float) -> None:
        """At a steady rate. Rounds for which there was no time are not made up for."""
        due = time.monotonic()
        while not self.stopping.wait(max(0.0, due - time.monotonic())):
            self._round()
            self.rounds += 1
            due = max(due + 1 / per_second, time.monotonic())

    def _round(self) -> None:
        number = self.rounds
        written = {"from": phone(number % len(self.contacts)), "text": f"{GREETING} {number}"}
        self.begun[number] = time.monotonic()
        self._measured("POST", self.tenant.receive_url, data=written)
        self.ask("broadcasts", {"urns": [f"tel:{phone((number + 1) % len(self.contacts))}"], "text": f"Note {number}"})
        if number % CAMPAIGN_EVERY == 0:
            date = {"fields": {"joined": datetime.now(UTC).isoformat()}}
            self.ask("contacts", date, uuid=self.contacts[number % len(self.contacts)])
        if number % LIST_EVERY == 0:
            self.ask("messages", folder="inbox")

    def _measured(self, method: str, url: str, **request: Any) -> Any:
        began = time.monotonic()
        answer = self.tenant.session.request(method, url, timeout=60, **request)
        self.requests.append(time.monotonic() - began)
        if not answer.ok:
            self.failed.append(f"{method} {url}: {answer.status_code} {answer.text[:300]}")
            return {"uuid": ""}
        return answer.json()


def phone(number: int) -> str:
    return f"+25078{number:07}"


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


def steady_ones(samples: Sequence[Sample]) -> list[Sample]:
    """Those with at least half as many messages as the fullest: in the others the machine had no time for the traffic,
    so that nothing can be said of how long it lets people wait.
    """
    before = [0, *(one.messages for one in samples)]
    made = [one.messages - earlier for one, earlier in zip(samples, before, strict=False)]
    return [one for one, number in zip(samples, made, strict=True) if number >= max(made) / 2]


def count_kinds(pid: int, peers: Mapping[int, str]) -> Counter[str]:
    """The open files of a process by what they are; `peers` names what listens at a port. Empty if it is gone."""
    found: Counter[str] = Counter()
    with contextlib.suppress(OSError):
        sockets = dict(_tcp_sockets(pid, peers))
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                found[_kind(os.readlink(entry), sockets)] += 1
    return found


def draw(samples: Sequence[Sample]) -> str:
    largest = sorted(samples[-1].tables, key=lambda name: -samples[-1].tables[name])[:MOST_TABLES]
    measures: list[tuple[str, str, Callable[[Sample], Mapping[str, float]]]] = [
        ("Memory", "MB", lambda one: one.memory),
        ("Open files", "", lambda one: one.files),
        ("99 of 100 are quicker", "ms", lambda one: one.p99),
        ("Largest tables", "MB", lambda one: {name: one.tables.get(name, 0) / MEGABYTE for name in largest}),
        ("Time in which some process waited for a processor", "%", lambda one: {"waited": one.waited * 100}),
    ]
    last = samples[-1].minutes or 1.0
    marks = {last * share: f"{last * share:.4g} min" for share in (0.0, 0.5, 1.0)}
    panels = [Panel(title, unit, _find_lines(samples, read), marks) for title, unit, read in measures]
    return draw_panels(panels, "Memory, open files, waits and tables over time")


@dataclass(frozen=True)
class Outcome:
    """A run: its samples, what grew, and what failed."""

    samples: Sequence[Sample]
    growths: Sequence[Growth]
    failed: Sequence[str]
    rounds: int

    @property
    def problems(self) -> list[str]:
        grown = [
            f"{one.name}: {one.end:.1f} after {one.middle:.1f}, {one.allowed:.1f} are allowed"
            for one in self.growths
            if not one.is_flat
        ]
        return grown + list(self.failed[:5])


def main(arguments: Sequence[str], page: Path = PAGE, say: Callable[[str], object] = print) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=WHOLE_MINUTES, help="how long (default 180)")
    parser.add_argument("--per-second", type=float, default=5, help="rounds of traffic per second (default 5)")
    parser.add_argument("--kept", action="store_true", help=f"judge the last run again, which is kept in {STATE}")
    parser.add_argument("--write", action="store_true", help="write docs/quality.md and docs/soak.svg")
    options = parser.parse_args(arguments)
    if options.kept:
        outcome = read_kept()
    else:
        with service("postgresql") as running:
            outcome = soak(running, options.minutes, options.per_second, say)
        keep(outcome)
    for problem in outcome.problems:
        say(problem)
    if options.write:
        page.with_name("soak.svg").write_text(draw(outcome.samples), encoding="utf-8")
        write_section("Soak", describe(outcome, options.per_second), page)
    return 1 if outcome.problems else 0


def keep(outcome: Outcome) -> None:
    STATE.parent.mkdir(parents=True, exist_ok=True)
    kept = {"samples": [asdict(one) for one in outcome.samples], "failed": outcome.failed, "rounds": outcome.rounds}
    STATE.write_text(json.dumps(kept), encoding="utf-8")


def read_kept() -> Outcome:
    kept = json.loads(STATE.read_text(encoding="utf-8"))
    samples = [Sample(**one) for one in kept["samples"]]
    return Outcome(samples, judge(samples), kept["failed"], kept["rounds"])


def soak(
    running: RunningService,
    minutes: float,
    per_second: float,
    say: Callable[[str], object],
    contacts: int = CONTACTS,
) -> Outcome:
    """The outcome of traffic for so many minutes; says each sample."""
    soaking = Soaking.begin(running, contacts)
    pause = min(MOST_SECONDS, max(LEAST_SECONDS, minutes * 60 / SAMPLES))
    samples: list[Sample] = []
    began, pressure = time.monotonic(), Pressure()
    with soaking.flowing(per_second), ended_by_signals(soaking.stopping):
        while (passed := time.monotonic() - began) < minutes * 60 and not soaking.stopping.is_set():
            soaking.stopping.wait(min(pause, minutes * 60 - passed))
            samples.append(take_sample(soaking, (time.monotonic() - began) / 60, pressure))
            one = samples[-1]
            say(
                f"{one.minutes:.1f} min: {one.messages} messages, memory {one.memory}, files {one.files}, "
                f"p99 {one.p99}, waited {one.waited}, {one.kinds.get('worker')}"
            )
    soaking.outside.close()
    return Outcome(samples, judge(samples), soaking.failed, soaking.rounds)


def describe(outcome: Outcome, per_second: float) -> str:
    minutes = outcome.samples[-1].minutes
    tables = [one for one in outcome.growths if "table" in one.name]
    others = [one for one in outcome.growths if "table" not in one.name]
    grown = sorted(tables, key=lambda one: -max(one.middle, one.end))[:5]
    rows = [f"| {one.name} | {one.middle:,.1f} | {one.end:,.1f} | {one.allowed:,.1f} |" for one in (*others, *grown)]
    return TEXT.format(
        minutes=minutes,
        rate=per_second,
        rounds=outcome.rounds,
        short=""
        if minutes >= HOUR_MINUTES
        else " So short a run shows that the command works, not that nothing leaks.",
        steady=len(steady_ones(outcome.samples)),
        samples=len(outcome.samples),
        starved=_starved(outcome.samples),
        waited=sum(one.waited for one in outcome.samples) / len(outcome.samples),
        kinds="\n".join(_kinds_of_worker(outcome.samples)),
        verdict="\n\n* " + "\n* ".join(outcome.problems) if outcome.problems else " nothing",
        requests=outcome.samples[-1].messages,
        rows="\n".join(rows),
        tables=len(tables),
    )


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


def _of_table(samples: Sequence[Sample], name: str) -> Growth:
    """How many bytes a table grew in the second and the last third; the last for as many messages as the second."""
    third = len(samples) // 3
    at = [samples[place] for place in (third, 2 * third, -1)]
    sizes, messages = [one.tables.get(name, 0) for one in at], [one.messages for one in at]
    middle = sizes[1] - sizes[0]
    end = (sizes[2] - sizes[1]) * (messages[1] - messages[0]) / max(1, messages[2] - messages[1])
    return Growth(f"growth of the table {name} (kB)", middle / 1024, end / 1024, max(middle, 0) / 1024 * 1.25 + 256)


def _kind(target: str, sockets: Mapping[str, str]) -> str:
    if target.startswith("socket:["):
        return sockets.get(target[8:-1], "local socket")
    if target.startswith(NAMELESS):
        return target.split(":")[0].strip("/").replace("anon_inode", "event queue")
    return f"file {Path(target).name}"


def _tcp_sockets(pid: int, peers: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    """Inode and what the socket is for."""
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
                _, local, remote, state, *rest = line.split()
                here, there = (int(address.rsplit(":", 1)[1], 16) for address in (local, remote))
                to = peers.get(there) or peers.get(here) or "others"
                yield rest[5], "listening socket" if state == LISTENING else f"connection to {to}"


def _find_lines(
    samples: Sequence[Sample], read: Callable[[Sample], Mapping[str, float]]
) -> dict[str, list[tuple[float, float]]]:
    lines: dict[str, list[tuple[float, float]]] = {}
    for one in samples:
        for name, value in read(one).items():
            lines.setdefault(name, []).append((one.minutes, value))
    return lines


def _starved(samples: Sequence[Sample]) -> str:
    """How long the p99s were that are not judged."""
    steady = steady_ones(samples)
    longest = max((max(one.p99.values()) for one in samples if one not in steady and one.p99), default=0.0)
    return f" In the others a p99 was up to {longest / 1000:,.0f} s, which is not judged." if longest else ""


def _kinds_of_worker(samples: Sequence[Sample]) -> Iterator[str]:
    counts = [one.kinds.get("worker", {}) for one in samples]
    for kind in sorted({kind for one in counts for kind in one}):
        numbers = [one.get(kind, 0) for one in counts]
        yield f"| {kind} | {numbers[0]} | {max(numbers)} | {numbers[-1]} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], say=partial(print, flush=True)))
