"""Learns which functions each test runs, and how long it takes: what C's profiler of Python counts in all threads."""

import cProfile
import json
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import pytest

from tools.mutants.judging import enter
from tools.untested import find_testers

MOST_NEAR = 8
ROOMS = ("flows", "persistence", "worker")
QUICK = tuple(f"--ignore=tests/{each}" for each in ("handlers/pairs", "flows/corpora", "flows/hypothesis", "faults"))
"""Without the tests that take long for what they call."""
BUDGET_SECONDS = 10.0
"""How long the tests that a mutant is shown to took without it, together."""
LONGEST_SECONDS = 3.0
"""Tests that take longer judge nothing: most of them start processes, which a mutant does not reach."""
Place = tuple[str, int]
"""A function: the path of its module below the root, and its first line."""


class Run(NamedTuple):
    """What a test needed, and ran."""

    seconds: float
    places: frozenset[Place]


class Learning:
    """A plugin of pytest that notes the functions of the project that each passing test runs."""

    def __init__(self, root: Path, rooms: Sequence[str]) -> None:
        self._prefixes = tuple(f"{root / room}{os.sep}" for room in rooms)
        self._cut = len(str(root)) + 1
        self._profilers: list[cProfile.Profile] = []
        self._failed: set[str] = set()
        self._began = 0.0
        self.runs: dict[str, Run] = {}

    def pytest_sessionstart(self) -> None:
        threading.setprofile(self._attach)
        self._add()

    def pytest_sessionfinish(self) -> None:
        threading.setprofile(None)
        for each in self._profilers[:1]:
            each.disable()

    def pytest_runtest_logstart(self) -> None:
        self._read()
        self._began = time.process_time()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            places = self._read()
            if not report.failed and report.nodeid not in self._failed:
                self.runs[report.nodeid] = Run(time.process_time() - self._began, places)
        elif not report.passed:
            self._failed.add(report.nodeid)

    def _attach(self, _frame: FrameType, _event: str, _given: Any) -> None:
        """Runs as a new thread begins; the profiler takes its place."""
        self._add()

    def _add(self) -> None:
        profiler = cProfile.Profile(subcalls=False, builtins=False)
        self._profilers.append(profiler)
        profiler.enable()

    def _read(self) -> frozenset[Place]:
        places = set()
        for profiler in self._profilers:
            for entry in profiler.getstats():
                code = entry.code
                if isinstance(code, CodeType) and code.co_filename.startswith(self._prefixes):
                    places.add((code.co_filename[self._cut :], code.co_firstlineno))
            profiler.clear()
        return frozenset(places)


def digest_of(tree: Path) -> str:
    """Of all Python files of a tree: what was learned from others may be wrong."""
    found = sha256()
    for path in sorted(tree.rglob("*.py")):
        source = path.read_bytes()
        found.update(f"{path.relative_to(tree).as_posix()} {len(source)}\n".encode() + source)
    return found.hexdigest()


def write(runs: Mapping[str, Run], path: Path, digest: str) -> None:
    """Keeps what was learned; places stand there once, and tests name them by number."""
    places = sorted({place for run in runs.values() for place in run.places})
    numbers = {place: number for number, place in enumerate(places)}
    tests = {test: [run.seconds, sorted(numbers[place] for place in run.places)] for test, run in runs.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps({"digest": digest, "places": places, "tests": tests}))
    unfinished.replace(path)


def is_of(path: Path, digest: str) -> bool:
    """Whether a file keeps what was learned from this code."""
    return path.exists() and json.loads(path.read_text()).get("digest") == digest


def read(path: Path) -> dict[str, Run]:
    """What was kept."""
    kept = json.loads(path.read_text())
    places: list[Place] = [(module, line) for module, line in kept["places"]]
    return {
        test: Run(seconds, frozenset(places[number] for number in numbers))
        for test, (seconds, numbers) in kept["tests"].items()
    }


def choose_tests(
    runs: Mapping[str, Run], places: Iterable[Place], near: Sequence[str], budget_seconds: float
) -> list[str]:
    """The tests that run one of these functions: those of the nearest files first, then the quickest, within a budget
    of processor time.
    """
    wanted = set(places)
    return _within(runs, [test for test, run in runs.items() if run.places & wanted], near, budget_seconds)


def choose_tests_of_module(runs: Mapping[str, Run], path: str, near: Sequence[str], budget_seconds: float) -> list[str]:
    """The same for any function of a module, and all tests of the nearest files."""
    found = [
        test
        for test, run in runs.items()
        if test.partition("::")[0] in near or any(module == path for module, _ in run.places)
    ]
    return _within(runs, found, near, budget_seconds)


def first_files(tests: Sequence[str], count: int) -> list[str]:
    """The tests of the first files among these: each more takes time to import."""
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))[:count]
    return [test for test in tests if test.partition("::")[0] in files]


def _within(runs: Mapping[str, Run], tests: Sequence[str], near: Sequence[str], budget_seconds: float) -> list[str]:
    rank = {file: place for place, file in enumerate(near)}

    def order(test: str) -> tuple[int, float]:
        return rank.get(test.partition("::")[0], len(rank)), runs[test].seconds

    return list(_until(budget_seconds, runs, sorted((each for each in tests if is_short(runs[each])), key=order)))


def _until(budget_seconds: float, runs: Mapping[str, Run], tests: Iterable[str]) -> Iterator[str]:
    spent = 0.0
    for test in tests:
        spent += runs[test].seconds
        if spent > budget_seconds:
            return
        yield test


def is_short(run: Run) -> bool:
    return run.seconds <= LONGEST_SECONDS


def near_tests(root: Path) -> Mapping[str, Sequence[str]]:
    """The test files of each module by its path: its own one, and those that import it."""
    return {path: found[:MOST_NEAR] for path, found in find_testers(root).items()}


def learn(tree: Path, tests: Sequence[str], path: Path, _telling: int) -> int:
    """Runs tests on SQLite, and keeps what they run; in a process of its own."""
    enter(tree, kept=["tools"])
    digest, learning = digest_of(tree), Learning(tree, ROOMS)
    pytest.main([*tests, *QUICK, "-p", "no:cacheprovider", "-W", "ignore", "-k", "not postgresql"], plugins=[learning])
    write(learning.runs, path, digest)
    return 0
