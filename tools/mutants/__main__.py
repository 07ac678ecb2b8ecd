"""`python -m tools.mutants`: small changes to the code that tests should notice, in a sample.

Cosmic Ray makes the mutants; the seed decides which. Each is shown to the tests that import its module, and if they
notice nothing, to those of its room. What lives on is listed with its change: it needs a test, or a reason in
`tools/mutants/explained.txt`. Fails (status 1) if fewer than 85 of 100 are noticed, explained ones left out.
"""

import argparse
import difflib
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from testbed.quality_page import PAGE, write_section
from testbed.servers import postgres_server
from tools.mutants.choosing_tests import near_tests, room_tests
from tools.mutants.judging import KILLED, TIMED_OUT, Judge, Stage, copied_tree, preload
from tools.mutants.page import LEAST_PART, describe, is_explained, part_noticed
from tools.mutants.sampling import Mutant, choose, find_mutants, modules_below, mutate

ROOT = Path(__file__).parents[2]
STATE = Path("var") / "mutants.json"
PATIENCE_SECONDS = 900
VERY_NEAR = 2
ON_SQLITE, ON_POSTGRESQL = ("-k", "not postgresql"), ("-k", "postgresql")
Verdict = dict[str, Any]


def main(arguments: Sequence[str], page: Path = PAGE, say: Callable[[str], object] = print) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("folders", nargs="*", default=["flows/engine", "persistence", "worker"])
    parser.add_argument("--count", type=int, default=500, help="mutants of each folder (default 500)")
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--minutes", type=float, default=None, help="judge no further mutant after that many minutes")
    parser.add_argument("--state", type=Path, default=STATE, help="file in which verdicts are kept")
    parser.add_argument("--near-only", action="store_true", help="show them only to the tests that import their module")
    parser.add_argument("--write", action="store_true", help="write docs/quality.md")
    options = parser.parse_args(arguments)
    verdicts: list[Verdict] = json.loads(options.state.read_text()) if options.state.exists() else []
    options.state.parent.mkdir(parents=True, exist_ok=True)
    if options.count:
        examine(options, verdicts, say)
    if options.write:
        write_section("Mutants", describe(verdicts), page)
    return 0 if verdicts and part_noticed(verdicts) >= LEAST_PART else 1


def examine(options: argparse.Namespace, verdicts: list[Verdict], say: Callable[[str], object]) -> None:
    """Adds a verdict for each mutant of the samples that has none, and keeps them; folders take turns, so that a run
    that is ended early has judged as many of each. What it has judged is the beginning of a sample, in whose order
    chance decides.
    """
    preload()
    ends = None if options.minutes is None else time.monotonic() + options.minutes * 60
    with copied_tree(ROOT) as tree, postgres_server() as server:
        os.environ["TEST_POSTGRES_URL"] = server
        near, court = near_tests(tree), Judge(tree, PATIENCE_SECONDS)
        known = {(each["mutant"], each["seed"]) for each in verdicts}
        shown_to = "nearest tests" if options.near_only else "tests of the room"
        samples = [
            [(folder, one) for one in choose(list(find_mutants(tree, modules_below(tree, folder))), *wanted(options))]
            for folder in options.folders
        ]
        for folder, mutant in [one for turn in itertools.zip_longest(*samples) for one in turn if one is not None]:
            if (str(mutant), options.seed) in known:
                continue
            if ends is not None and time.monotonic() > ends:
                break
            change = changed_lines(tree, mutant)
            room = [] if options.near_only else room_tests(mutant.path)
            plan = [] if is_explained(change, mutant.path) else stages(near.get(mutant.path, []), room)
            verdict = court.judge(mutant, plan)
            verdicts.append(told(folder, mutant, verdict, change) | {"seed": options.seed, "shown_to": shown_to})
            options.state.write_text(json.dumps(verdicts, indent=1))
            say(f"{verdict}: {mutant}")
            if verdict not in (KILLED, TIMED_OUT):
                say(verdicts[-1]["change"])
        for test in sorted(court.unsound):
            say(f"fails without any mutant: {test}")


def wanted(options: argparse.Namespace) -> tuple[int, int]:
    return options.count, options.seed


def stages(near: Sequence[str], room: Sequence[str]) -> list[Stage]:
    """First the nearest tests on SQLite, which are quick, the very nearest before the others; then all."""
    first, others = near[:VERY_NEAR], near[VERY_NEAR:]
    return [Stage(first, ON_SQLITE), Stage(others, ON_SQLITE), Stage(near, ON_POSTGRESQL), Stage(room)]


def changed_lines(tree: Path, mutant: Mutant) -> str:
    """The lines that the mutant changes, before and after."""
    source = (tree / mutant.path).read_text(encoding="utf-8")
    lines = difflib.unified_diff(source.splitlines(), mutate(source, mutant).splitlines(), lineterm="", n=0)
    return "\n".join(line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---"))


def told(folder: str, mutant: Mutant, verdict: str, change: str) -> Verdict:
    return {"folder": folder, "mutant": str(mutant), "path": mutant.path, "verdict": verdict, "change": change}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], say=partial(print, flush=True)))
