"""Which tests a mutant is shown to: those that run what it changes, first one of each way that they take through its
module, of each way those of the module's own file first, then the quickest.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from tools.mutants.learning import ROOMS, Learned, Run
from tools.mutants.statements import Statement, find_statement, list_statements, names_at_import, names_made_at
from tools.untested import find_testers

MOST_NEAR = 8
BUDGET_SECONDS = 6.0
"""How long the tests that a mutant is shown to took without it, together."""
SECOND_BUDGET_SECONDS = 12.0
"""The same for those that are judged again: they are few."""
LONGEST_SECONDS = 3.0
"""Tests that take longer judge only what no other test runs: most of them start processes, which no mutant reaches."""
ALWAYS_NEAR = {
    "persistence/tables/": ("tests/persistence/test_migrations.py", "tests/persistence/test_made_tables.py"),
    "persistence/migrations/": (
        *("tests/persistence/test_migrations.py", "tests/persistence/test_made_tables.py"),
        "tests/persistence/upgrades/test_upgrades.py",
    ),
}
"""Tests of what the modules of a folder are together."""


def near_tests(root: Path) -> Mapping[str, Sequence[str]]:
    """The test files of each module by its path: its own one, and those that import it."""
    found = {}
    for path, files in find_testers(root).items():
        wanted = dict.fromkeys([*always_near(path), *files])
        found[path] = [each for each in wanted if (root / each).exists()][:MOST_NEAR]
    return found


def always_near(path: str) -> Sequence[str]:
    return [test for folder, tests in ALWAYS_NEAR.items() if path.startswith(folder) for test in tests]


class Choice:
    """Chooses among the tests that were learned, of which some may not judge."""

    def __init__(self, root: Path, learned: Learned, budget_seconds: float = BUDGET_SECONDS) -> None:
        self._root, self._learned, self._budget_seconds = root, learned, budget_seconds
        self._near = near_tests(root)

    def near(self, path: str) -> Sequence[str]:
        return self._near.get(path, [])

    def for_line(self, path: str, source: str, line: int, is_in_function: bool) -> tuple[list[str], bool]:
        """The tests for a change in a line, and whether nothing was made of that line when modules were imported."""
        statement = find_statement(list_statements(source), line) if is_in_function else None
        if statement is not None:
            is_new = not self._learned.imports.get(path, 0) >> statement & 1
            return self._within(path, lambda run: run.runs(path, statement), is_near_enough=False), is_new
        names = frozenset(names_made_at(source, line))
        return self._of_names(path, names), not names & _names_of_modules(self._root)

    def _of_names(self, path: str, names: frozenset[str]) -> list[str]:
        """The tests that run a statement anywhere that uses one of these names, or anything of the module; then those
        of its nearest files.
        """
        masks = self._users_of(names)
        return self._within(
            path, lambda run: path in run.seen or any(seen & masks.get(each, 0) for each, seen in run.seen.items())
        )

    def _users_of(self, names: frozenset[str]) -> dict[str, int]:
        return {
            path: sum(1 << number for number, each in enumerate(statements) if each.names & names)
            for path, statements in _statements(self._root).items()
        }

    def _within(self, path: str, is_wanted: Callable[[Run], bool], is_near_enough: bool = True) -> list[str]:
        near, runs = self.near(path), self._learned.tests
        always = {test for test in runs if test.partition("::")[0] in always_near(path)}
        wanted = {test for test, run in runs.items() if is_wanted(run)}
        others = {test for test in runs if is_near_enough and test.partition("::")[0] in near}
        return choose_within(
            runs, [always, wanted - always, others - wanted - always], path, near, self._budget_seconds
        )


def choose_within(
    runs: Mapping[str, Run], groups: Sequence[Iterable[str]], path: str, near: Sequence[str], budget_seconds: float
) -> list[str]:
    """Tests in the order in which they are shown a mutant of a module, as many as a budget of processor time allows:
    by groups, then one of all that run the same statements of the module before the next of them, then those of the
    nearest files, then the quickest. What tests of a file share counts once.
    """
    rank = {file: place for place, file in enumerate(near)}

    def order(test: str) -> tuple[int, float]:
        return rank.get(test.partition("::")[0], len(rank)), runs[test].seconds + runs[test].shared

    chosen: list[str] = []
    for group in groups:
        alike: Counter[int] = Counter()
        turns = {}
        short = [test for test in group if is_short(runs[test])]
        if not short and not chosen:  # better a long one than none
            short = sorted(group, key=lambda test: runs[test].seconds + runs[test].shared)[:1]
        for test in sorted(short, key=order):
            way = runs[test].seen.get(path, 0)
            turns[test] = alike[way]
            alike[way] += 1
        chosen += sorted(turns, key=turns.__getitem__)
    return list(_until(budget_seconds, runs, chosen))


def is_short(run: Run) -> bool:
    return run.seconds + run.shared <= LONGEST_SECONDS


def _until(budget_seconds: float, runs: Mapping[str, Run], tests: Iterable[str]) -> Iterator[str]:
    spent, begun = 0.0, set()
    for test in tests:
        file = test.partition("::")[0]
        spent += runs[test].seconds + (0.0 if file in begun else runs[test].shared)
        begun.add(file)
        if spent > budget_seconds and (len(begun) > 1 or is_short(runs[test])):
            return
        yield test


def first_files(tests: Sequence[str], count: int) -> list[str]:
    """The tests of the first files among these: each more takes time to import."""
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))[:count]
    return [test for test in tests if test.partition("::")[0] in files]


@cache
def _statements(root: Path) -> Mapping[str, Sequence[Statement]]:
    paths = [path for room in ROOMS for path in sorted((root / room).rglob("*.py"))]
    return {path.relative_to(root).as_posix(): list_statements(path.read_text(encoding="utf-8")) for path in paths}


@cache
def _names_of_modules(root: Path) -> frozenset[str]:
    """The names that code outside of functions uses, anywhere in the project."""
    folders = [each for each in sorted(root.iterdir()) if each.is_dir() and not each.name.startswith(".")]
    return frozenset().union(
        *(names_at_import(path.read_text(encoding="utf-8")) for each in folders for path in each.rglob("*.py"))
    )
