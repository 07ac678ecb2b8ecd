"""`python -m bench.soak`: a steady day's traffic for hours, and whether anything grows.

Contacts write and a flow answers them, broadcasts go out, a campaign writes to those who get a date, a receiver gets
an event for each message, and people read lists: so many rounds per second. Samples show memory, open files, tables
and waits. The run fails (status 1) if one of them grows, or a request fails.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from bench.ending import ended_by_signals
from bench.fairness.tenants import service
from bench.soak.plot import draw
from bench.soak.samples import Growth, Pressure, Sample, judge, steady_ones, take_sample
from bench.soak.traffic import CONTACTS, Soaking
from testbed.quality_page import PAGE, write_section
from testbed.running import RunningService

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
