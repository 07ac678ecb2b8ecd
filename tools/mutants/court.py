"""Judges mutants in forks of a process that has collected all tests: a fork puts the mutant in place, runs the tests
that call what it changes, and ends.
"""

import contextlib
import functools
import gc
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import FunctionType, ModuleType

import pytest
from _pytest.runner import runtestprotocol

from testbed.servers import FOLDER
from tools.mutants.judging import (
    KILLED,
    NO_TESTS,
    SURVIVED,
    TESTS_FAILED,
    TIMED_OUT,
    UNTESTED,
    Judge,
    Outcome,
    Stage,
    enter,
    in_fork,
)
from tools.mutants.learning import BUDGET_SECONDS, MOST_NEAR, Run, choose_tests, choose_tests_of_module, first_files
from tools.mutants.sampling import Mutant, mutate
from tools.mutants.swapping import (
    CannotSwap,
    Place,
    changed_functions,
    changed_values,
    find_functions,
    forget_results,
    set_values,
    swap,
)

AFRESH = ("persistence/migrations/", "persistence/tables/")
"""What tests share is made with these, before a mutant comes."""
FORGETFUL = ("flows", "persistence", "worker", "relayboard")
ON_SQLITE, ON_POSTGRESQL = ("-k", "not postgresql"), ("-k", "postgresql")
Tell = Callable[[Mutant, str, str], object]
"""What is done with a mutant, its verdict and the test that noticed it."""


class Court:
    """A plugin of pytest that judges mutants of a tree instead of running tests."""

    def __init__(
        self,
        tree: Path,
        mutants: Iterable[Mutant],
        runs: Mapping[str, Run],
        near: Mapping[str, Sequence[str]],
        tell: Tell,
        seconds: int,
    ) -> None:
        self._tree, self._mutants, self._runs, self._near, self._tell = tree, mutants, runs, near, tell
        self._afresh = Judge(tree, seconds)
        self._seconds = seconds
        self._items: dict[str, pytest.Item] = {}
        self._functions: dict[Place, list[FunctionType]] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = {item.nodeid: item for item in session.items}
        self._warm_up()
        gc.unfreeze()  # what is frozen is not listed
        self._functions = find_functions(self._tree)
        gc.collect()
        gc.freeze()  # forks then share these pages
        for mutant in self._mutants:
            verdict, test = self.judge(mutant)
            self._tell(mutant, verdict, test)
        return True

    def judge(self, mutant: Mutant) -> tuple[str, str]:
        """The verdict, and the test that noticed the mutant."""
        near = self._near.get(mutant.path, [])
        outcome = Outcome(UNTESTED)
        if (places := self._changed_places(mutant)) is not None:
            tests = choose_tests(self._runs, places, near, BUDGET_SECONDS)
            outcome = self._show(mutant, tests, self._put_in_place)
        elif not mutant.path.startswith(AFRESH):
            tests = choose_tests_of_module(self._runs, mutant.path, near, BUDGET_SECONDS)
            outcome = self._show(mutant, tests, self._set_values)
            if outcome.verdict not in (KILLED, TIMED_OUT):
                outcome = Outcome(UNTESTED)  # what the module made of its values has them still
        if outcome.verdict in (KILLED, TIMED_OUT):
            return outcome.verdict, outcome.failed
        verdict = self._afresh.judge(mutant, self._stages_afresh(mutant, near, outcome.verdict))
        return (SURVIVED if verdict == UNTESTED and outcome.verdict == SURVIVED else verdict), ""

    def _stages_afresh(self, mutant: Mutant, near: Sequence[str], verdict: str) -> list[Stage]:
        """For what ran at the import the tests of the module on SQLite; and the nearest on PostgreSQL for a module
        that names it, or that no test on SQLite calls.
        """
        tests = []
        if verdict == UNTESTED:
            tests = first_files(choose_tests_of_module(self._runs, mutant.path, near, BUDGET_SECONDS), MOST_NEAR)
        is_needed = not (tests or verdict == SURVIVED) or "postgresql" in self._source(mutant)
        return [Stage(tests), *([Stage(near, ON_POSTGRESQL)] if is_needed else [])]

    def _source(self, mutant: Mutant) -> str:
        return (self._tree / mutant.path).read_text(encoding="utf-8")

    def _changed_places(self, mutant: Mutant) -> list[tuple[str, int]] | None:
        """The functions that a fork can change; None if the module must be imported anew."""
        if mutant.path.startswith(AFRESH):
            return None
        try:
            changes = changed_functions(self._tree / mutant.path, mutate(self._source(mutant), mutant))
        except (CannotSwap, SyntaxError):
            return None
        known = all((b.co_filename, b.co_firstlineno, b.co_qualname) in self._functions for b, _ in changes)
        return [(mutant.path, before.co_firstlineno) for before, _ in changes] if known else None

    def _module(self, mutant: Mutant) -> ModuleType | None:
        return sys.modules.get(mutant.path.removesuffix(".py").replace("/", "."))

    def _set_values(self, mutant: Mutant) -> None:
        module = self._module(mutant)
        if module is None:
            raise CannotSwap(f"{mutant.path} is not imported")
        set_values(module, changed_values(module, mutate(self._source(mutant), mutant)), (*FORGETFUL, "tests"))
        _forget()

    def _show(self, mutant: Mutant, tests: Sequence[str], prepare: Callable[[Mutant], None]) -> Outcome:
        here = [test for test in tests if test in self._items]
        while True:
            left = [test for test in here if test not in self._afresh.unsound]
            if not left:
                return Outcome(UNTESTED)
            outcome = self._run(left, functools.partial(prepare, mutant))
            if outcome.verdict != KILLED or not outcome.failed or self._is_sound(outcome.failed):
                return outcome

    def _is_sound(self, test: str) -> bool:
        sound, unsound = self._afresh.sound, self._afresh.unsound
        if test not in sound | unsound:
            passes = self._run([test], lambda: None).verdict == SURVIVED
            (sound if passes else unsound).add(test)
            if not passes:
                sys.stderr.write(f"fails without any mutant: {test}\n")
        return test in sound

    def _put_in_place(self, mutant: Mutant) -> None:
        path = self._tree / mutant.path
        swap(changed_functions(path, mutate(self._source(mutant), mutant)), self._functions)
        _forget()

    def _run(self, tests: Sequence[str], prepare: Callable[[], None]) -> Outcome:
        def work(telling: int) -> int:
            resource.setrlimit(resource.RLIMIT_CPU, (self._seconds, self._seconds + 5))
            try:
                prepare()
            except CannotSwap:
                return NO_TESTS
            return self._run_items([self._items[test] for test in tests], telling)

        return in_fork(work, self._seconds)

    def _run_items(self, items: Sequence[pytest.Item], telling: int) -> int:
        for place, item in enumerate(items):
            following = items[place + 1] if place + 1 < len(items) else self._other_than(item)
            if any(report.failed for report in runtestprotocol(item, nextitem=following, log=False)):
                os.write(telling, f"{item.nodeid}\n".encode())
                return TESTS_FAILED
        return 0

    def _other_than(self, item: pytest.Item) -> pytest.Item | None:
        """An item of another file: what all tests share then stays."""
        return next((each for each in self._items.values() if each.path != item.path), None)

    def _warm_up(self) -> None:
        """Makes what tests share and no mutant changes."""
        item = next((each for each in self._items.values() if _is_plain(each)), None)
        if item is not None:
            runtestprotocol(item, nextitem=self._other_than(item), log=False)
        if (app := sys.modules.get("handlers.app")) is not None:
            app._connexion_app()


def _forget() -> None:
    gc.unfreeze()
    forget_results(FORGETFUL)
    gc.freeze()


def _is_plain(item: pytest.Item) -> bool:
    """Whether a test uses a database on SQLite, and neither a workspace nor the API."""
    names = set(getattr(item, "fixturenames", ()))
    return "[sqlite]" in item.nodeid and "database" in names and not names & {"workspace", "api", "http", "usual_rows"}


def run_court(court: Court, tree: Path, files: Sequence[str]) -> None:
    """Collects the tests of these files, and judges. Never returns to a process that needs its modules."""
    enter(tree, kept=["tools"])
    # Runs of pytest that end take away what they find in their usual place.
    with (
        tempfile.TemporaryDirectory(dir=FOLDER) as place,
        open(os.devnull, "w") as silence,
        contextlib.redirect_stdout(silence),
    ):
        options = ["-p", "no:cacheprovider", "-W", "ignore", f"--basetemp={place}/court", *ON_SQLITE]
        pytest.main([*options, "-o", "tmp_path_retention_policy=none", *files], plugins=[court])
