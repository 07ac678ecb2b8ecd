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
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from bench.faults.judging import judge
from bench.faults.kinds import FAULTS, NEEDS_CLOCK, NEEDS_DISK, hit, start_the_dead
from bench.faults.neighbors import compare
from bench.faults.page import WHOLE, describe
from bench.faults.receivers import MOST_FOR_SLOW, SHARES, SLOW, FaultyReceiver
from bench.faults.record import RECORD, Record
from bench.faults.run import CREATED, Run, is_over
from bench.faults.surroundings import pause, surroundings
from testbed.quality_page import PAGE, write_section
from testbed.running import RunningService, running_service, wait_until

PATIENCE_SECONDS = 7200.0
LEAST_PAUSE_SECONDS, MOST_PAUSE_SECONDS = 0.5, 2.5
CLOCK_ROUNDS = 4
SETTINGS = {"WEBHOOK_TIMEOUT_SECONDS": "5", "WEBHOOK_RETRY_DELAYS_SECONDS": "0.2,1,3"}
"""Long enough for receivers of this process on a machine that does other work too."""


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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
