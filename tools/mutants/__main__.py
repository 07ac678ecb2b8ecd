"""`python -m tools.mutants`: small changes to the code that tests should notice, in a sample.

Cosmic Ray makes the mutants; the seed decides which. Each is shown to the tests that import its module, and if they
notice nothing, to those of its room. What lives on is listed with its change: it needs a test, or a reason in
`tools/mutants/explained.txt`. Fails (status 1) if fewer than 85 of 100 are noticed, explained ones left out.
"""

import argparse
import difflib
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from testbed.quality_page import PAGE, write_section
from testbed.servers import postgres_server
from tools.mutants.choosing_tests import near_tests, room_tests
from tools.mutants.judging import KILLED, SURVIVED, TIMED_OUT, copied_tree, judge, preload, run_tests
from tools.mutants.page import LEAST_PART, describe, is_explained, part_noticed
from tools.mutants.sampling import Mutant, choose, find_mutants, modules_below, mutate

ROOT = Path(__file__).parents[2]
STATE = Path("var") / "mutants.json"
PATIENCE_SECONDS = 900.0
Verdict = dict[str, Any]


def main(arguments: Sequence[str], page: Path = PAGE, say: Callable[[str], object] = print) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("folders", nargs="*", default=["flows/engine", "persistence", "worker"])
    parser.add_argument("--count", type=int, default=500, help="mutants of each folder (default 500)")
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--state", type=Path, default=STATE, help="file in which verdicts are kept")
    parser.add_argument("--near-only", action="store_true", help="show them only to the tests that import their module")
    parser.add_argument("--write", action="store_true", help="write docs/quality.md")
    options = parser.parse_args(arguments)
    verdicts: list[Verdict] = json.loads(options.state.read_text()) if options.state.exists() else []
    options.state.parent.mkdir(parents=True, exist_ok=True)
    if options.count:
        examine(options, verdicts, say)
    if options.write:
        write_section("Mutants", describe(verdicts, options.seed), page)
    return 0 if verdicts and part_noticed(verdicts) >= LEAST_PART else 1


def examine(options: argparse.Namespace, verdicts: list[Verdict], say: Callable[[str], object]) -> None:
    """Adds a verdict for each mutant of the samples that has none, and keeps them."""
    preload()
    with copied_tree(ROOT) as tree, postgres_server() as server:
        os.environ["TEST_POSTGRES_URL"] = server
        near = near_tests(tree)
        for folder in options.folders:
            sample = choose(list(find_mutants(tree, modules_below(tree, folder))), options.count, options.seed)
            known = {each["mutant"] for each in verdicts}
            plan = {
                mutant: [near.get(mutant.path, []), [] if options.near_only else room_tests(mutant.path)]
                for mutant in sample
                if str(mutant) not in known
            }
            every = sorted({test for stages in plan.values() for tests in stages for test in tests})
            if every and run_tests(tree, every, PATIENCE_SECONDS * 4) != SURVIVED:
                raise SystemExit(f"these tests fail without any mutant: {' '.join(every)}")
            for mutant, stages in plan.items():
                verdict = judge(tree, mutant, stages, PATIENCE_SECONDS)
                verdicts.append(told(tree, folder, mutant, verdict))
                options.state.write_text(json.dumps(verdicts, indent=1))
                say(f"{verdict}: {mutant}")
                if verdict not in (KILLED, TIMED_OUT):
                    say(verdicts[-1]["change"])


def told(tree: Path, folder: str, mutant: Mutant, verdict: str) -> Verdict:
    """A verdict with the lines that the mutant changes."""
    source = (tree / mutant.path).read_text(encoding="utf-8")
    lines = difflib.unified_diff(source.splitlines(), mutate(source, mutant).splitlines(), lineterm="", n=0)
    change = "\n".join(line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---"))
    found = {"folder": folder, "mutant": str(mutant), "path": mutant.path, "verdict": verdict, "change": change}
    return found | {"is_explained": is_explained(change, mutant.path)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], say=partial(print, flush=True)))
