"""`python -m tools.mutants`: small changes to the code that tests should notice, in a sample.

Cosmic Ray makes the mutants; the seed decides which. Each is shown to the tests that call what it changes. What lives
on is listed with its change: it needs a test, or a reason in `tools/mutants/explained.txt`. Fails (status 1) if fewer
than 85 of 100 are noticed, explained ones left out.
"""

import argparse
import difflib
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from testbed.quality_page import PAGE, write_section
from testbed.servers import postgres_server
from tools.mutants.court import Court, run_court
from tools.mutants.judging import KILLED, TIMED_OUT, copied_tree, in_fork, preload
from tools.mutants.learning import Run, digest_of, is_of, learn, near_tests, read
from tools.mutants.page import LEAST_PART, describe, part_noticed
from tools.mutants.sampling import Mutant, choose, find_mutants, modules_below, mutate

ROOT = Path(__file__).parents[2]
STATE, LEARNED = Path("var") / "mutants.json", Path("var") / "tests-and-functions.json"
PATIENCE_SECONDS, LEARNING_SECONDS = 60, 7200
JUDGES = ("tests/flows", "tests/persistence", "tests/worker", "tests/handlers", "tests/contract/test_tenant_walls.py")
Verdict = dict[str, Any]


def main(arguments: Sequence[str], page: Path = PAGE, say: Callable[[str], object] = print) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument(
        "folders", nargs="*", default=["flows/engine", "persistence", "worker"], help="default: %(default)s"
    )
    parser.add_argument("--count", type=int, default=500, help="mutants of each folder (default 500)")
    parser.add_argument("--seed", type=int, default=16, help="which mutants are chosen (default 16)")
    parser.add_argument("--minutes", type=float, default=None, help="judge no further mutant after that many minutes")
    parser.add_argument("--state", type=Path, default=STATE, help="file in which verdicts are kept")
    parser.add_argument("--learned", type=Path, default=LEARNED, help="file that keeps what each test runs")
    parser.add_argument("--jobs", type=int, default=1, help="how many judge at once (default 1)")
    parser.add_argument("--write", action="store_true", help="write docs/quality.md")
    options = parser.parse_args(arguments)
    for folder in options.folders:
        if not modules_below(ROOT, folder):
            parser.error(f"there is no module below {folder}")
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
    with postgres_server() as server, ExitStack() as trees:
        os.environ["TEST_POSTGRES_URL"] = server
        copies = [trees.enter_context(copied_tree(ROOT)) for _ in range(options.jobs)]
        folder_of = dict(list_wanted(copies[0], options, verdicts))
        wanted, near, runs = list(folder_of), near_tests(copies[0]), learned(copies[0], options.learned, say)
        judging = [
            start_court(copy, wanted[number :: options.jobs], runs, near, ends) for number, copy in enumerate(copies)
        ]
        for mutant, verdict, test in answers(judging):
            change = changed_lines(ROOT, mutant)
            about = {"seed": options.seed, "noticed_by": test}
            verdicts.append(told(folder_of[mutant], mutant, verdict, change) | about)
            options.state.write_text(json.dumps(verdicts, indent=1))
            say(f"{verdict}: {mutant}")
            if verdict not in (KILLED, TIMED_OUT):
                say(change)


def list_wanted(tree: Path, options: argparse.Namespace, verdicts: Sequence[Verdict]) -> Iterator[tuple[Mutant, str]]:
    """The mutants of the samples that have no verdict yet, with their folders, which take turns."""
    known = {(each["mutant"], each["seed"]) for each in verdicts}
    samples = [
        [
            (one, folder)
            for one in choose(list(find_mutants(tree, modules_below(tree, folder))), *size_and_seed(options))
        ]
        for folder in options.folders
    ]
    for turn in itertools.zip_longest(*samples):
        yield from (each for each in turn if each is not None and (str(each[0]), options.seed) not in known)


def size_and_seed(options: argparse.Namespace) -> tuple[int, int]:
    return options.count, options.seed


def learned(tree: Path, path: Path, say: Callable[[str], object]) -> dict[str, Run]:
    """What each test runs: as kept in a file from this code, or from running all that judge."""
    if not is_of(path, digest_of(tree)):
        say("Learning what each test runs...")
        in_fork(partial(learn, tree, existing(tree), path.absolute()), LEARNING_SECONDS)
    return read(path)


def existing(tree: Path) -> list[str]:
    return [each for each in JUDGES if (tree / each).exists()]


def start_court(
    tree: Path,
    mutants: Sequence[Mutant],
    runs: Mapping[str, Run],
    near: Mapping[str, Sequence[str]],
    ends: float | None,
) -> Connection:
    """Judges in a fork of this process, which sends each mutant with its verdict and the test that noticed it."""
    receiving, sending = Pipe(duplex=False)
    if os.fork() == 0:
        try:
            in_time = itertools.takewhile(lambda _: ends is None or time.monotonic() < ends, mutants)

            def tell(mutant: Mutant, verdict: str, test: str) -> None:
                sending.send((mutant, verdict, test))

            run_court(Court(tree, in_time, runs, near, tell, PATIENCE_SECONDS), tree, existing(tree))
        finally:
            os._exit(0)
    sending.close()
    return receiving


def answers(courts: Sequence[Connection]) -> Iterator[tuple[Mutant, str, str]]:
    """What courts send, until all have ended."""
    left = list(courts)
    while left:
        for court in wait(left):
            assert isinstance(court, Connection)
            try:
                yield court.recv()
            except EOFError:
                left.remove(court)


def changed_lines(tree: Path, mutant: Mutant) -> str:
    """The lines that the mutant changes, before and after."""
    source = (tree / mutant.path).read_text(encoding="utf-8")
    lines = difflib.unified_diff(source.splitlines(), mutate(source, mutant).splitlines(), lineterm="", n=0)
    return "\n".join(line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---"))


def told(folder: str, mutant: Mutant, verdict: str, change: str) -> Verdict:
    return {"folder": folder, "mutant": str(mutant), "path": mutant.path, "verdict": verdict, "change": change}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], say=partial(print, flush=True)))
