"""`python -m tests.fuzz`: requests by Schemathesis, in rounds, until so many were made.

Each round has a server of its own (API and worker) on a fresh database, and asks one contract (v1, v2, relay, or what
gateways call) with a seed of its own, in the name of one role. All checks are on. The state is kept after each round,
so that the command goes on where it was ended; rounds that found something are run again first. It fails (status 1)
if an answer is a 5xx, or one that the contract does not describe, or if a process logged an error.
"""

import argparse
import json
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
from tests.fuzz.rounds import plan, run_round

STATE = Path("var") / "fuzz.json"


def main(arguments: Sequence[str], page: Path = PAGE, say: Callable[[str], object] = print) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--requests", type=int, default=1_000_000, help="in all rounds (default 1,000,000)")
    parser.add_argument("--minutes", type=float, default=None, help="begin no round after that many minutes")
    parser.add_argument("--examples", type=int, default=60, help="for each operation in a round (default 60)")
    parser.add_argument("--seed", type=int, default=16, help="of the first round; each has the next one (default 16)")
    parser.add_argument("--state", type=Path, default=STATE, help="file in which the rounds are kept")
    parser.add_argument("--only", default="", help="options for Schemathesis, such as --include-path=/contacts.json")
    parser.add_argument("--write", action="store_true", help="write docs/quality.md")
    options = parser.parse_args(arguments)
    options.state.parent.mkdir(parents=True, exist_ok=True)
    rounds = read_state(options.state)
    ends = None if options.minutes is None else time.monotonic() + options.minutes * 60
    again = [number for number, one in enumerate(rounds) if one["found"]]
    while (again or count(rounds) < options.requests) and (ends is None or time.monotonic() < ends):
        number = again.pop(0) if again else len(rounds)
        one = plan(number, options.seed, options.examples)
        folder = Path(tempfile.mkdtemp(prefix="fuzz"))
        result = asdict(one) | asdict(run_round(one, folder, tuple(options.only.split())))
        rounds[number : number + 1] = [result]
        options.state.write_text(json.dumps(rounds, indent=1), encoding="utf-8")
        say("\n".join(told(str(one), result, count(rounds))))
        if result["found"]:
            say(f"  kept: {folder}")
        else:
            shutil.rmtree(folder)
    if options.write:
        write_section("Fuzz", describe(rounds, options.requests), page)
    return 1 if any(one["found"] for one in rounds) or not rounds else 0


def read_state(path: Path) -> list[dict[str, Any]]:
    return list(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else []


def count(rounds: Sequence[dict[str, Any]]) -> int:
    return sum(sum(one["requests"].values()) for one in rounds)


def told(name: str, result: dict[str, Any], total: int) -> Iterator[str]:
    made = sum(result["requests"].values())
    yield f"{name}: {made:,} requests in {result['seconds']} s, {len(result['found'])} findings; {total:,} in all"
    for text in result["found"]:
        yield "  - " + text.replace("\n", "\n    ")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], say=partial(print, flush=True)))
