"""`python -m tests.fuzz`: requests by two generators, in rounds, until so many were made.

Each round has a server of its own (API and worker) on a fresh database, and asks one contract (v1, v2, relay, or what
gateways call) with a seed of its own. Schemathesis asks over sockets with all its checks; the other generator spoils
valid requests and asks the application in this process. What was asked is recorded beside the code, so that the command
goes on where it was ended; rounds that found something are run again first. It fails (status 1) if an answer is a 5xx,
or one that the contract does not describe, or if a process logged an error.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from testbed.quality_page import PAGE, write_section
from tests.fuzz.page import describe
from tests.fuzz.record import GENERATORS, MUTATIONS, RECORD, Record
from tests.fuzz.rounds import plan, run_round

MUTATIONS_FOR_EACH = 4
"""So many rounds by mutations for each by Schemathesis, which takes ten times as long."""


def main(arguments: Sequence[str], page: Path = PAGE, say: Callable[[str], object] = print) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--requests", type=int, default=1_000_000, help="in all rounds (default 1,000,000)")
    parser.add_argument("--minutes", type=float, default=None, help="begin no round after that many minutes")
    parser.add_argument("--examples", type=int, default=60, help="of Schemathesis for each operation (default 60)")
    parser.add_argument("--mutations", type=int, default=10_000, help="requests in a round by mutations")
    parser.add_argument("--seed", type=int, default=16, help="of the first round; each has the next one (default 16)")
    parser.add_argument("--by", choices=GENERATORS, help="only this generator")
    parser.add_argument("--record", type=Path, default=RECORD, help="file with what was asked")
    parser.add_argument("--only", default="", help="options for Schemathesis, such as --include-path=/contacts.json")
    parser.add_argument("--write", action="store_true", help="write docs/quality.md")
    options = parser.parse_args(arguments)
    record = Record(options.record)
    ends = None if options.minutes is None else time.monotonic() + options.minutes * 60
    again = [(one["generator"], one["number"]) for one in record.open]
    while (again or record.requests() < options.requests) and (ends is None or time.monotonic() < ends):
        generator, number = again.pop(0) if again else next_round(record, options.by)
        one = plan(number, options.seed, options.examples, generator, options.mutations)
        folder = Path(tempfile.mkdtemp(prefix="fuzz"))
        result = asdict(run_round(one, folder, tuple(options.only.split())))
        record.add(generator, asdict(one), result)
        say("\n".join(told(str(one), result, record.requests())))
        if result["found"]:
            say(f"  kept: {folder}")
        else:
            shutil.rmtree(folder)
    if options.write:
        write_section("Fuzz", describe(record, options.requests), page)
    return 1 if record.open or not record.requests() else 0


def next_round(record: Record, by: str | None) -> tuple[str, int]:
    """The generator and the number of the round that comes next."""
    schemathesis, mutations = GENERATORS
    behind = record.rounds(mutations) < MUTATIONS_FOR_EACH * record.rounds(schemathesis)
    generator = by or (MUTATIONS if behind else schemathesis)
    return generator, record.rounds(generator)


def told(name: str, result: dict[str, Any], total: int) -> Iterator[str]:
    made = sum(result["requests"].values())
    yield f"{name}: {made:,} requests in {result['seconds']} s, {len(result['found'])} findings; {total:,} in all"
    for text in result["found"]:
        yield "  - " + text.replace("\n", "\n    ")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], say=partial(print, flush=True)))
