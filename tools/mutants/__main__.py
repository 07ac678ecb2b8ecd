"""`python -m tools.mutants`: small changes to the code that tests should notice, in a sample.

Cosmic Ray makes the mutants; the seed decides which. Each is shown to the tests that run what it changes. What lives
on is listed with its change: it needs a test, or a reason in `tools/mutants/explained.txt`. Fails (status 1) if fewer
than 85 of 100 are noticed, explained ones left out.
"""

import argparse
import itertools
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path

from testbed.quality_page import PAGE, write_section
from testbed.servers import postgres_server
from tools.mutants.choosing import BUDGET_SECONDS, SECOND_BUDGET_SECONDS, Choice
from tools.mutants.court import Court, run_court
from tools.mutants.judging import Outcome, copied_tree, in_fork, preload
from tools.mutants.learning import Learned, learn, read, write
from tools.mutants.page import LEAST_PART, describe, lives_on, part_noticed
from tools.mutants.renewal import digests_of, files_to_learn, merge
from tools.mutants.samples import find_chosen, read_sample
from tools.mutants.sampling import Mutant, modules_below
from tools.mutants.verdicts import (
    GONE,
    Verdict,
    add_later,
    find_again,
    find_named,
    new_verdict,
    read_verdicts,
    write_verdicts,
)

ROOT = Path(__file__).parents[2]
STATE, LEARNED = Path("var") / "mutants.json", Path("var") / "tests-and-statements.json"
LEARNING_SECONDS = 7200
FEW = 40
"""So many mutants need only the tests that they are shown to; others need nearly all."""
JUDGES = (
    *("tests/flows/", "tests/persistence/", "tests/worker/", "tests/handlers/", "tests/relayboard/move/"),
    *("tests/relayboard/commands/", "tests/contract/test_tenant_walls.py", "tests/contract/test_examples.py"),
)
"""The tests that run the code in their own process. Learning them takes minutes, once."""
Say = Callable[[str], object]
Answer = tuple[Mutant, Outcome, str]


def main(arguments: Sequence[str], page: Path = PAGE, say: Say = print) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument(
        "folders", nargs="*", default=["flows/engine", "persistence", "worker"], help="default: %(default)s"
    )
    parser.add_argument("--count", type=int, default=500, help="mutants of each folder (default 500)")
    parser.add_argument("--seed", type=int, default=17, help="which mutants are chosen (default 17)")
    parser.add_argument("--minutes", type=float, default=None, help="judge no further mutant after that many minutes")
    parser.add_argument("--state", type=Path, default=STATE, help="file in which verdicts are kept")
    parser.add_argument("--learned", type=Path, default=LEARNED, help="file that keeps what each test runs")
    parser.add_argument("--jobs", type=int, default=1, help="how many judge at once (default 1)")
    parser.add_argument("--again", action="store_true", help="judge those again that live on and are not explained")
    parser.add_argument("--mutant", action="append", help="judge the mutant of this name, and keep nothing")
    parser.add_argument("--write", action="store_true", help="write docs/quality.md")
    options = parser.parse_args(arguments)
    options.learned, options.state = options.learned.absolute(), options.state.absolute()
    for folder in options.folders:
        if not modules_below(ROOT, folder):
            parser.error(f"there is no module below {folder}")
    if options.mutant:
        return examine_named(options, say)
    verdicts = read_verdicts(options.state)
    options.state.parent.mkdir(parents=True, exist_ok=True)
    if options.again:
        examine_again(options, verdicts, say)
    elif options.count:
        examine(options, verdicts, say)
    if options.write:
        write_section("Mutants", describe(verdicts), page)
    return 0 if verdicts and part_noticed(verdicts) >= LEAST_PART else 1


def examine(options: argparse.Namespace, verdicts: list[Verdict], say: Say) -> None:
    """Adds a verdict for each mutant of the samples that has none, and keeps them; folders take turns, so that a run
    that is ended early has judged as many of each. What it has judged is the beginning of a sample, in whose order
    chance decides.
    """
    wanted = {mutant: (folder, name) for folder, name, mutant in list_wanted(ROOT, options, verdicts)}
    for mutant, outcome, change in judge(options, list(wanted), say):
        folder, name = wanted[mutant]
        verdicts.append(new_verdict(folder, options.seed, mutant, outcome, change) | {"mutant": name})
        write_verdicts(verdicts, options.state)


def examine_again(options: argparse.Namespace, verdicts: list[Verdict], say: Say) -> None:
    """Shows the mutants that live on to today's tests; the first verdict stays beside the new one."""
    living = [(find_again(ROOT, each), each) for each in verdicts if lives_on(each)]
    for mutant, verdict in living:
        if mutant is None:
            add_later(verdict, GONE)
    write_verdicts(verdicts, options.state)
    found = {mutant: verdict for mutant, verdict in living if mutant is not None}
    for mutant, outcome, _ in judge(options, list(found), say):
        add_later(found[mutant], outcome.verdict, outcome.failed if outcome.is_noticed else "")
        write_verdicts(verdicts, options.state)


def examine_named(options: argparse.Namespace, say: Say) -> int:
    """Says what becomes of single mutants; the exit status is 1 if one of them lives on."""
    named = {name: find_named(ROOT, name) for name in options.mutant}
    for name in [name for name, mutant in named.items() if mutant is None]:
        say(f"there is no mutant {name}")
    outcomes = [outcome for _, outcome, _ in judge(options, [each for each in named.values() if each], say)]
    return 0 if len(outcomes) == len(named) and all(each.is_noticed for each in outcomes) else 1


def judge(options: argparse.Namespace, mutants: Sequence[Mutant], say: Say) -> Iterator[Answer]:
    """Shows mutants to the tests, in a copy of the tree for each that judges, and says what becomes of each."""
    if not mutants:
        return
    sys.dont_write_bytecode = False  # of modules that are imported anew for many mutants
    preload()
    ends = None if options.minutes is None else time.monotonic() + options.minutes * 60
    with postgres_server() as server, ExitStack() as trees:
        os.environ["TEST_POSTGRES_URL"] = server
        budget_seconds = SECOND_BUDGET_SECONDS if options.again or options.mutant else BUDGET_SECONDS
        copies = [trees.enter_context(copied_tree(ROOT)) for _ in range(options.jobs)]
        known = learned(copies[0], options.learned, say)
        files = files_for(copies[0], mutants, known)
        judging = [
            start_court(copy, mutants[number :: options.jobs], known, files, ends, budget_seconds)
            for number, copy in enumerate(copies)
        ]
        for count, (mutant, outcome, change) in enumerate(answers(judging), 1):
            say(f"{count}, {outcome.seconds:.1f} s: {outcome.verdict}: {mutant} {outcome.failed}")
            if not outcome.is_noticed:
                say(change)
            yield mutant, outcome, change


def list_wanted(
    tree: Path, options: argparse.Namespace, verdicts: Sequence[Verdict]
) -> Iterator[tuple[str, str, Mutant]]:
    """The mutants of the samples that have no verdict yet, with their folders, which take turns, and the names under
    which they were chosen.
    """
    known = frozenset(each["mutant"] for each in verdicts if each["seed"] == options.seed)
    path = options.state.with_suffix(".samples")
    samples = [
        [
            (folder, name, mutant)
            for name, mutant in find_chosen(tree, read_sample(tree, path, folder, options.count, options.seed), known)
        ]
        for folder in options.folders
    ]
    for turn in itertools.zip_longest(*samples):
        yield from (each for each in turn if each is not None)


def learned(tree: Path, path: Path, say: Say) -> Learned:
    """What each test runs: as kept in a file, with what changed since learned anew."""
    kept = read(path)
    now = digests_of(tree, kept.digests, JUDGES)
    files = files_to_learn(tree, kept, now)
    if files is None or files:
        say(f"Learning what each test {'' if files is None else f'of {len(files)} files '}runs...")
        anew = path.with_suffix(".anew")
        in_fork(partial(learn, tree, existing(tree) if files is None else sorted(files), anew), LEARNING_SECONDS)
        kept = merge(kept, read(anew), now if files is None else files, now)
        anew.unlink()
        write(kept, path)
    return kept


def existing(tree: Path) -> list[str]:
    return [each for each in JUDGES if (tree / each).exists()]


def files_for(tree: Path, mutants: Sequence[Mutant], known: Learned) -> list[str]:
    """The files of tests that mutants are shown to."""
    if len(mutants) > FEW:
        return existing(tree)
    choice = Choice(tree, known, SECOND_BUDGET_SECONDS)
    sources = {each.path: (tree / each.path).read_text(encoding="utf-8") for each in mutants}
    tests = (
        test
        for each in mutants
        for is_in_function in (True, False)
        for test in choice.for_line(each.path, sources[each.path], each.line, is_in_function)[0]
    )
    return sorted({test.partition("::")[0] for test in tests})


def start_court(
    tree: Path,
    mutants: Sequence[Mutant],
    known: Learned,
    files: Sequence[str],
    ends: float | None,
    budget_seconds: float = BUDGET_SECONDS,
) -> Connection:
    """Judges in a fork of this process, which sends each mutant, what became of it and the lines that it changes."""
    receiving, sending = Pipe(duplex=False)
    if os.fork() == 0:
        try:
            in_time = itertools.takewhile(lambda _: ends is None or time.monotonic() < ends, mutants)

            def tell(mutant: Mutant, outcome: Outcome, change: str) -> None:
                sending.send((mutant, outcome, change))

            run_court(Court(tree, in_time, known, tell, budget_seconds), tree, files)
            sending.send(None)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    sending.close()
    return receiving


def answers(courts: Iterable[Connection]) -> Iterator[Answer]:
    """What courts send, until all have ended. Raises RuntimeError at the end if one did not judge all that it had."""
    left, has_broken = list(courts), False
    while left:
        for court in wait(left):
            assert isinstance(court, Connection)
            try:
                answer: Answer | None = court.recv()
            except EOFError:
                answer, has_broken = None, True
            if answer is None:
                left.remove(court)
            else:
                yield answer
    if has_broken:
        raise RuntimeError("A process that judges ended early; the others have judged what they had.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], say=partial(print, flush=True)))
