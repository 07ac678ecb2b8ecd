"""`python -m bench.faults`: events for webhooks while everything around them is hit again and again.

Clients make events by the API, each under a key, and repeat a request until it is answered. Receivers accept, refuse
once, reset, hang, drip or lie about lengths. Meanwhile processes are killed, connections ended or used up, the database
restarted, its disk filled, the queue taken away and the clock turned, at moments that the seed decides. A fault counts
only if it hit while work was under way. In the end the ledger has to balance: every event that a client made is there
once, those for receivers that accept are delivered, the others failed. Otherwise the run fails (status 1). Then a
second service shows what healthy receivers wait beside dead ones.
"""

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from bench.faults.kinds import FAULTS, NEEDS_CLOCK, NEEDS_DISK, hit, start_the_dead
from bench.faults.neighbors import DEAD, HEALTHY, LARGEST_RATIO, compare
from bench.faults.run import (
    CREATED,
    MOST_FOR_SLOW,
    SHARES,
    SLOW,
    FaultyReceiver,
    Run,
    is_over,
    judge,
    pause,
    surroundings,
)
from testbed.quality_page import PAGE, write_section
from testbed.running import RunningService, running_service, wait_until

PATIENCE_SECONDS = 7200.0
LEAST_PAUSE_SECONDS, MOST_PAUSE_SECONDS = 0.5, 2.5
CLOCK_ROUNDS = 4
SETTINGS = {"WEBHOOK_TIMEOUT_SECONDS": "5", "WEBHOOK_RETRY_DELAYS_SECONDS": "0.2,1,3"}
"""Long enough for receivers of this process on a machine that does other work too."""

RECORD = Path(__file__).with_name("record.json")
Found = dict[str, Any]

COUNTED = ("made_for", "ledger", "answers", "faults_that_hit", "faults_that_hit_nothing", "restarted", "failed_wrongly")
SUMMED = ("events", "lost", "arrived_more_than_needed", "seconds")

WHOLE = 100_000
TEXT = """
<!-- not run: tests/quality/test_faults.py does it in small -->

    make faults

makes 100,000 events for webhooks by the API and hits the service meanwhile, in rounds with a service and a seed of
their own, kept in `bench/faults/record.json`. It fails unless every event is there once, all for receivers that
accept are delivered and arrived, all others failed, none is pending, and the API answered nothing but 201 and 503. A
round that failed stays there until its cause is mended.

So far, {size}: {number} rounds with the seeds {seeds}, {seconds:,} seconds on two processors that did other work too.
Rounds that failed: **{failed}**. Receivers have a time limit of 5 s: with 1 s, answers came too late on a busy
machine.

| Events | Delivered | Failed | Pending | Lost | Arrived more often than needed |
|---|---|---|---|---|---|
| {numbers} |

The events: {kinds}. Receivers that reset, hang or drip never accept. An event arrives again if a worker dies between
the response and its record.

| Fault | Hit work under way | Hit nothing, not counted |
|---|---|---|
{rows}

Clients repeated {unanswered:,} requests without a response and {refused:,} with a 503, each under the same key.
Processes that gave up because the database was away when they began: {restarted}; the run started them again. The
disk that gets full is a file system in memory, which only root may mount; the clock, by libfaketime, jumps in every
fourth round.
{neighbors}"""

NEIGHBORS = """
What healthy receivers wait, from the record of an event to its arrival, beside dead ones and without: {per_second}
events per second for {healthy} healthy receivers and {dead} others, {pairs} pairs of slices of {seconds:g} seconds in
turns. The run fails if the p99 is more than {largest} times the other, in the median of the pairs.

| Dead receivers | Events | p50 (ms) | p95 (ms) | p99 (ms) |
|---|---|---|---|---|
{rows}

The p99 is **{ratio}** times that without dead ones (the pairs: {ratios}).
"""


def main(arguments: Sequence[str], page: Path = PAGE, say: Callable[[str], object] = print) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.faults", description=__doc__)
    parser.add_argument("--count", type=int, default=WHOLE, help="events of all rounds (default 100,000)")
    parser.add_argument("--round", type=int, default=10_000, help="events of a round (default 10,000)")
    parser.add_argument("--faults", type=int, default=36, help="faults that hit in a round (default 36)")
    parser.add_argument("--minutes", type=float, default=None, help="begin no round after that many minutes")
    parser.add_argument("--seed", type=int, default=16, help="of the first round; each has the next one (default 16)")
    parser.add_argument("--without", action="append", default=[], choices=list(FAULTS), help="a fault to leave out")
    parser.add_argument("--pairs", type=int, default=10, help="pairs of slices beside dead receivers (default 10)")
    parser.add_argument("--slice-seconds", type=float, default=15, help="length of a slice (default 15)")
    parser.add_argument("--record", type=Path, default=RECORD, help="file with what was run")
    parser.add_argument("--write", action="store_true", help="write docs/quality.md")
    options = parser.parse_args(arguments)
    record = Record(options.record)
    go_on(record, options, say)
    problems = [problem for each in record.failed for problem in each["problems"]]
    if options.pairs:
        record.neighbors = compare(options.slice_seconds, options.pairs)
        record.save()
        say(json.dumps(record.neighbors))
    if record.neighbors:
        problems += record.neighbors["problems"]
    if options.write:
        write_section("Faults", describe(record), page)
    return 1 if problems or not record.rounds else 0


class Record:
    """`rounds` are those whose ledger balanced, `failed` the others, which stay until somebody has mended the cause and
    takes them out; `neighbors` is the last comparison beside dead receivers.
    """

    def __init__(self, path: Path = RECORD) -> None:
        self.path = path
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        self.rounds: list[Found] = known.get("rounds", [])
        self.failed: list[Found] = known.get("failed", [])
        self.neighbors: Found | None = known.get("neighbors")

    @property
    def events(self) -> int:
        return sum(each["events"] for each in self.rounds)

    @property
    def next_seed(self) -> int | None:
        """The one after the last that was used; None if there was none."""
        used = [each["seed"] for each in (*self.rounds, *self.failed)]
        return max(used) + 1 if used else None

    def add(self, found: Found) -> None:
        (self.failed if found["problems"] else self.rounds).append(found)
        self.save()

    def save(self) -> None:
        kept = {"rounds": self.rounds, "failed": self.failed, "neighbors": self.neighbors}
        self.path.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def go_on(record: Record, options: argparse.Namespace, say: Callable[[str], object]) -> None:
    """Runs rounds until there are as many events as wanted, or one fails."""
    ends = None if options.minutes is None else time.monotonic() + options.minutes * 60
    while record.events < options.count and not record.failed and (ends is None or time.monotonic() < ends):
        seed, count = record.next_seed or options.seed, min(options.round, options.count - record.events)
        without = options.without if has_clock(record) else [*options.without, NEEDS_CLOCK]
        found = fail_and_recover(count, options.faults, seed, without)
        record.add(found | {"seed": seed})
        say(json.dumps(found))


def has_clock(record: Record) -> bool:
    """Whether the clock jumps in the next round, which makes it several times slower."""
    return len(record.rounds) % CLOCK_ROUNDS == 0


def plan_events(chance: random.Random, count: int) -> list[str]:
    """The receivers of the events, by their behavior."""
    planned = chance.choices(list(SHARES), list(SHARES.values()), k=count)
    taken: Counter[str] = Counter()
    for place, behavior in enumerate(planned):
        taken[behavior] += 1
        if behavior in SLOW and taken[behavior] > MOST_FOR_SLOW:
            planned[place] = "ok"
    return planned


def fail_and_recover(
    count: int,
    faults: int,
    seed: int,
    without: Sequence[str] = (),
    *,
    serve: Callable[..., AbstractContextManager[RunningService]] = running_service,
) -> dict[str, Any]:
    """Makes `count` events and hits until `faults` have hit, or all events are finished; what was found."""
    receivers = {behavior: FaultyReceiver(behavior) for behavior in SHARES}
    began = time.monotonic()
    try:
        with surroundings(serve, has_clock=NEEDS_CLOCK not in without, **SETTINGS) as around:
            if NEEDS_DISK not in without and not around.disk.is_small:
                raise SystemExit(f"only root can fill the disk; leave it out: --without '{NEEDS_DISK}'")
            run = Run(around)
            hurt(run, receivers, count, faults, random.Random(seed), [each for each in FAULTS if each not in without])
            return judge(run, receivers, count) | {"seconds": round(time.monotonic() - began)}
    finally:
        for receiver in receivers.values():
            receiver.close()


def hurt(
    run: Run,
    receivers: dict[str, FaultyReceiver],
    count: int,
    faults: int,
    chance: random.Random,
    names: Sequence[str],
) -> None:
    """Makes the events and hits what works on them, until all events are finished. Each fault comes once before
    chance decides which is next."""
    urls = {behavior: receiver.url for behavior, receiver in receivers.items()}
    clients = run.begin_clients(urls, plan_events(chance, count))
    first = chance.sample(list(names), len(names))
    try:
        while run.hits.total() < faults and not is_over(run, count):
            wait_for_work(run, count)
            name = first.pop() if first else chance.choices(names, [FAULTS[each][1] for each in names])[0]
            hit(run, name, chance)
            start_the_dead(run)
            pause(chance.uniform(LEAST_PAUSE_SECONDS, MOST_PAUSE_SECONDS))
        wait_until(lambda: is_finished(run, count), "all events to be finished", PATIENCE_SECONDS)
    finally:
        run.ending.set()
        for client in clients:
            client.join()


def wait_for_work(run: Run, count: int) -> None:
    """Until a client gets the next answer: what was hit before works again. Not if all events are made."""
    before = run.answers[CREATED]
    wait_until(
        lambda: run.answers[CREATED] > before or sum(map(len, run.made.values())) == count,
        "the service to work again",
        PATIENCE_SECONDS,
    )


def is_finished(run: Run, count: int) -> bool:
    start_the_dead(run)
    return is_over(run, count)


def add_up(rounds: Sequence[Found]) -> Found:
    """All rounds as one."""
    counted: Found = {name: _sum(each[name] for each in rounds) for name in COUNTED}
    return counted | {name: sum(each[name] for each in rounds) for name in SUMMED}


def describe(record: Record) -> str:
    found = add_up(record.rounds)
    hits, misses, ledger = found["faults_that_hit"], found["faults_that_hit_nothing"], found["ledger"]
    numbers = [found["events"], *(ledger[name] for name in ("delivered", "failed", "pending"))]
    numbers += [found["lost"], found["arrived_more_than_needed"]]
    return TEXT.format(
        size="the whole run" if found["events"] >= WHOLE else f"{found['events'] / WHOLE:.1%} of it",
        number=len(record.rounds),
        seeds=", ".join(str(each["seed"]) for each in record.rounds),
        failed=len(record.failed) or "none",
        seconds=found["seconds"],
        numbers=" | ".join(f"{number:,}" for number in numbers),
        kinds=", ".join(f"{number:,} for one that is `{name}`" for name, number in sorted(found["made_for"].items())),
        rows="\n".join(f"| {name} | {hits.get(name, 0)} | {misses.get(name, 0)} |" for name in FAULTS),
        unanswered=found["answers"].get("0", 0),
        refused=found["answers"].get("503", 0),
        restarted=", ".join(f"{number} ({name})" for name, number in found["restarted"].items()) or "none",
        neighbors=_neighbors(record.neighbors) if record.neighbors else "",
    )


def _sum(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


def _neighbors(found: dict[str, Any]) -> str:
    names = {"without": "none", "with": f"{DEAD} of {HEALTHY + DEAD}"}
    rows = [
        f"| {names[name]} | {values['events']:,} | {values['p50']:g} | {values['p95']:g} | {values['p99']:g} |"
        for name, values in found["waits"].items()
    ]
    return NEIGHBORS.format(
        per_second=found["per_second"],
        healthy=HEALTHY,
        dead=DEAD,
        pairs=len(found["ratios"]),
        seconds=found["seconds"],
        largest=LARGEST_RATIO,
        rows="\n".join(rows),
        ratio=found["ratio"],
        ratios=", ".join(map(str, found["ratios"])),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
