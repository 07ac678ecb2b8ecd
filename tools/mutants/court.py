"""Judges mutants in forks of a process that has collected all tests: a fork puts the mutant in place, runs the tests
that run what it changes, and ends.
"""

import contextlib
import gc
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from testbed.servers import FOLDER
from tools.mutants.choosing import Choice, always_near, first_files
from tools.mutants.judging import (
    NO_TESTS,
    NOT_ALL_OF_IT,
    SURVIVED,
    TESTS_FAILED,
    TIMED_OUT,
    UNTESTED,
    Judge,
    Outcome,
    Stage,
    allow,
    enter,
    in_fork,
    note,
)
from tools.mutants.learning import ON_SQLITE, Learned, list_caches
from tools.mutants.sampling import Mutant, changed_lines, mutate
from tools.mutants.swapping import (
    CannotSwap,
    Place,
    changed_functions,
    changed_values,
    find_functions,
    set_values,
    swap,
)

AFRESH = ("persistence/migrations/", "persistence/tables/")
"""What tests share is made with these, before a mutant comes."""
FORGETFUL = ("flows", "persistence", "worker", "relayboard")
SUMS, ASKING, LOCKS = "core/ReplaceBinaryOperator", ("persistence/", "worker/"), ("with_for_update", "skip_locked")
"""What databases answer in ways of their own: conditions that are joined in another way, which SQLite counts as
numbers, and who waits for whom.
"""
ON_POSTGRESQL = ("-k", "postgresql")
DATABASES = ("postgres", "sqlite")
MOST_FILES, MOST_FILES_ON_POSTGRESQL, MOST_ON_POSTGRESQL = 5, 3, 24
MOST_FILES_OF_PROCESSES = 3
SPARE_SECONDS, TIMES_AS_LONG = 4.0, 10
"""What a test may need of a processor with a mutant: some seconds more than it takes without, and ten times that."""
SPARE_TO_WAIT, TIMES_TO_WAIT = 12.0, 60
"""The same of time that goes by, on a machine that does other work too."""
AFRESH_SECONDS, PROCESSES_SECONDS, COMMON_SECONDS = 60, 30, 240
Tell = Callable[[Mutant, Outcome, str], object]
"""What is done with a mutant, what became of it, and the lines that it changes."""


@dataclass(frozen=True)
class Shown:
    """A mutant and its code, the functions that it changes (None if it changes what runs at the import), and the tests
    that it is shown to.
    """

    mutant: Mutant
    source: str
    mutated: str
    functions: Sequence[tuple[CodeType, CodeType]] | None
    tests: Sequence[str]
    is_whole: bool
    """Whether a fork can put all of it in place."""


class Court:
    """A plugin of pytest that judges mutants of a tree instead of running tests."""

    def __init__(
        self, tree: Path, mutants: Iterable[Mutant], learned: Learned, tell: Tell, budget_seconds: float
    ) -> None:
        self._tree, self._mutants, self._tell = tree, mutants, tell
        self._runs, self._choice = learned.tests, Choice(tree, learned, budget_seconds)
        self._afresh, self._of_processes = Judge(tree, AFRESH_SECONDS), Judge(tree, PROCESSES_SECONDS)
        self._items: dict[str, pytest.Item] = {}
        self._on_postgresql: dict[str, pytest.Item] = {}
        self._functions: dict[Place, list[FunctionType]] = {}
        self._caches: list[Any] = []

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """What is left out here runs on PostgreSQL."""
        self._on_postgresql.update({item.nodeid: item for item in items})

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = {item.nodeid: item for item in session.items}
        self._warm_up()
        gc.unfreeze()  # what is frozen is not listed
        self._functions = find_functions(self._tree)
        self._caches = list_caches(FORGETFUL)
        gc.collect()
        gc.freeze()  # forks then share these pages
        for mutant in self._mutants:
            began = _seconds_spent()
            try:
                outcome, change = self.judge(mutant, self._source(mutant))
            # Cosmic Ray finds exceptions of other modules, which it cannot replace, and stars that are no operators.
            except (ValueError, SyntaxError) as error:
                sys.stderr.write(f"{error}\n")
                continue
            self._tell(mutant, replace(outcome, seconds=_seconds_spent() - began), change)
        return True

    def judge(self, mutant: Mutant, source: str) -> tuple[Outcome, str]:
        """What becomes of a mutant, and the lines that it changes. What no test runs in its own process is shown to
        the nearest files, whose tests start processes in the changed tree. Raises ValueError, SyntaxError for what
        is no mutant.
        """
        mutated = mutate(source, mutant)
        compile(mutated, mutant.path, "exec")
        shown = self._prepare(mutant, source, mutated)
        outcome = self._show(shown)
        if not outcome.is_noticed:
            later = self._afresh.judge(mutant, list(self._stages_afresh(shown, outcome)))
            if not later.is_noticed and not shown.tests:
                near = self._choice.near(mutant.path)[:MOST_FILES_OF_PROCESSES]
                later = self._of_processes.judge(mutant, [Stage(near, ON_SQLITE)])
            outcome = later if later.is_noticed or (shown.tests and outcome.verdict == UNTESTED) else outcome
        return outcome, changed_lines(source, shown.mutated)

    def _prepare(self, mutant: Mutant, source: str, mutated: str) -> Shown:
        functions = self._changed_functions(mutant, source, mutated)
        tests, is_whole = self._choice.for_line(mutant.path, source, mutant.line, functions is not None)
        return Shown(mutant, source, mutated, functions, tests, is_whole)

    def _stages_afresh(self, shown: Shown, outcome: Outcome) -> Iterable[Stage]:
        """For what a fork cannot put in place, tests on SQLite with modules that are imported anew; and tests on
        PostgreSQL for what only it can tell: functions that tell databases apart, what no test on SQLite runs in such
        modules, tables, conditions that are joined in another way, and locks.
        """
        is_done = outcome.verdict == SURVIVED and outcome.is_whole and shown.is_whole
        if not is_done:
            yield Stage(first_files(shown.tests, MOST_FILES), ON_SQLITE)
        if self._needs_postgresql(shown):
            yield Stage(self._twins(shown))
        path = shown.mutant.path
        is_unseen = not shown.tests or path.startswith(
            "persistence/migrations/"
        )  # those that are always near see little
        is_of_one_database = is_unseen and _names_databases(shown.source)
        if is_of_one_database or any(map(_names_databases, _texts_of_functions(shown))):
            near = [each for each in self._choice.near(path) if each not in always_near(path)]
            yield Stage(near[:MOST_FILES_ON_POSTGRESQL], ON_POSTGRESQL)

    def _needs_postgresql(self, shown: Shown) -> bool:
        """Whether SQLite may not tell what PostgreSQL does."""
        is_sum = shown.mutant.operator.startswith(SUMS) and shown.mutant.path.startswith(ASKING)
        is_locked = any(word in text for word in LOCKS for text in _texts_of_functions(shown))
        return shown.mutant.path.startswith(AFRESH) or is_sum or is_locked

    def _twins(self, shown: Shown) -> list[str]:
        """The same tests on the other database, where there are such; and those that only that one has."""
        always = [test for test in self._on_postgresql if test.partition("::")[0] in always_near(shown.mutant.path)]
        twins = (test.replace("sqlite", "postgresql") for test in shown.tests if "sqlite" in test.partition("[")[2])
        found = list(dict.fromkeys([*always, *(test for test in twins if test in self._on_postgresql)]))
        return first_files(found, MOST_FILES_ON_POSTGRESQL)[:MOST_ON_POSTGRESQL]

    def _source(self, mutant: Mutant) -> str:
        return (self._tree / mutant.path).read_text(encoding="utf-8")

    def _changed_functions(
        self, mutant: Mutant, source: str, mutated: str
    ) -> Sequence[tuple[CodeType, CodeType]] | None:
        """The functions that a fork can change; None if the module must be imported anew."""
        if mutant.path.startswith(AFRESH):
            return None
        try:
            changes = changed_functions(self._tree / mutant.path, source, mutated)
        except (CannotSwap, SyntaxError):
            return None
        known = all((b.co_filename, b.co_firstlineno, b.co_qualname) in self._functions for b, _ in changes)
        return changes if known else None

    def _put_in_place(self, shown: Shown) -> bool:
        """Whether that is all that the mutant changes. Raises CannotSwap, ImportError."""
        for each in self._caches:
            each.cache_clear()
        if shown.functions is not None:
            swap(shown.functions, self._functions)
            return True
        module = sys.modules.get(shown.mutant.path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        if module is None or shown.mutant.path.startswith(AFRESH):
            raise CannotSwap(f"{shown.mutant.path} must be imported anew")
        return set_values(changed_values(module, shown.source, shown.mutated), (*FORGETFUL, "handlers", "tests"))

    def _show(self, shown: Shown) -> Outcome:
        here = [test for test in shown.tests if test in self._items]
        while True:
            left = [test for test in here if test not in self._afresh.unsound]
            if not left:
                return Outcome(UNTESTED)
            outcome = self._run(left, lambda: self._put_in_place(shown))
            if not outcome.is_noticed or outcome.failed not in self._items:
                return outcome
            if outcome.verdict == TIMED_OUT and not self._passes(outcome.failed):
                here.remove(outcome.failed)  # the machine is too busy now, which says nothing of the mutant
            elif self._is_sound(outcome.failed):
                return outcome

    def _is_sound(self, test: str) -> bool:
        sound, unsound = self._afresh.sound, self._afresh.unsound
        if test not in sound | unsound:
            passes = self._passes(test)
            (sound if passes else unsound).add(test)
            if not passes:
                sys.stderr.write(f"fails without any mutant: {test}\n")
        return test in sound

    def _passes(self, test: str) -> bool:
        """Whether a test passes now without a mutant."""
        return self._run([test], lambda: True).verdict == SURVIVED

    def _run(self, tests: Sequence[str], prepare: Callable[[], bool]) -> Outcome:
        def work(noted: int) -> int:
            allow(SPARE_SECONDS, SPARE_TO_WAIT)
            try:
                is_whole = prepare()
            except ImportError:
                return TESTS_FAILED
            except CannotSwap:
                return NO_TESTS
            return self._run_items([self._items[test] for test in tests], noted) or (0 if is_whole else NOT_ALL_OF_IT)

        return in_fork(work, COMMON_SECONDS)

    def _run_items(self, items: Sequence[pytest.Item], noted: int) -> int:
        for place, item in enumerate(items):
            usual = self._runs[item.nodeid].seconds + self._runs[item.nodeid].shared
            note(noted, item.nodeid)
            allow(SPARE_SECONDS + TIMES_AS_LONG * usual, SPARE_TO_WAIT + TIMES_TO_WAIT * usual)
            following = items[place + 1] if place + 1 < len(items) else self._other_than(item)
            if any(report.failed for report in runtestprotocol(item, nextitem=following, log=False)):
                return TESTS_FAILED
        return 0

    def _other_than(self, item: pytest.Item) -> pytest.Item | None:
        """An item of another file: what all tests share then stays."""
        return next((each for each in self._items.values() if each.path != item.path), None)

    def _warm_up(self) -> None:
        """Makes what tests share and no mutant changes."""
        plain = [each for each in self._items.values() if _is_plain(each)]
        item = min(plain, key=lambda each: len(getattr(each, "fixturenames", ())), default=None)
        if item is not None:  # the plainest starts no thread, which forks would wait for
            runtestprotocol(item, nextitem=self._other_than(item), log=False)
        if (app := sys.modules.get("handlers.app")) is not None:
            app._connexion_app()


def _names_databases(text: str) -> bool:
    return any(name in text.lower() for name in DATABASES)


def _texts_of_functions(shown: Shown) -> list[str]:
    lines = shown.source.splitlines()
    changed = [before for before, _ in shown.functions or ()]
    return ["\n".join(lines[each.co_firstlineno - 1 : _last_line(each)]) for each in changed]


def _last_line(code: CodeType) -> int:
    return max(line for *_, line in code.co_lines() if line is not None)


def _seconds_spent() -> float:
    """Of a processor, by this process and its forks."""
    spent = [resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in spent)


def _is_plain(item: pytest.Item) -> bool:
    """Whether a test uses a database on SQLite, and neither a workspace nor the API."""
    names = set(getattr(item, "fixturenames", ()))
    return "[sqlite]" in item.nodeid and "database" in names and not names & {"workspace", "api", "http", "usual_rows"}


def run_court(court: Court, tree: Path, files: Sequence[str]) -> None:
    """Collects the tests of these files, and judges. Never returns to a process that needs its modules. Raises
    RuntimeError if pytest ended before all were judged.
    """
    enter(tree, kept=["tools"])
    # Runs of pytest that end take away what they find in their usual place.
    with (
        tempfile.TemporaryDirectory(dir=FOLDER) as place,
        open(os.devnull, "w") as silence,
        contextlib.redirect_stdout(silence),
    ):
        options = ["-p", "no:cacheprovider", "-W", "ignore", f"--basetemp={place}/court", *ON_SQLITE]
        status = pytest.main([*options, "-o", "tmp_path_retention_policy=none", *files], plugins=[court])
    if status in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):
        raise RuntimeError(f"pytest ended early, with status {int(status)}")
