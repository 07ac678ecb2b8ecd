"""Learns which statements each test runs, and how long it takes."""

import functools
import gc
import json
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tools.mutants.judging import enter
from tools.mutants.statements import MarkingFinder, Marks

ROOMS = ("flows", "persistence", "worker")
QUICK = tuple(f"--ignore=tests/{each}" for each in ("handlers/pairs", "flows/corpora", "flows/hypothesis", "faults"))
"""Without the tests that take long for what they call."""
ON_SQLITE = ("-k", "not postgresql")


class Run(NamedTuple):
    """What a test needed of a processor, without and for what the tests of its file share; and the statements that ran,
    as the bits of a number for each module.
    """

    seconds: float
    shared: float
    seen: Mapping[str, int]

    def runs(self, path: str, statement: int) -> bool:
        return bool(self.seen.get(path, 0) >> statement & 1)


@dataclass
class Learned:
    """What each test runs, and what ran when modules were imported; `digests` are those of the files it is of."""

    tests: dict[str, Run] = field(default_factory=dict)
    imports: dict[str, int] = field(default_factory=dict)
    digests: dict[str, tuple[str, str]] = field(default_factory=dict)


class Learning:
    """A plugin of pytest that notes the statements that each passing test runs."""

    def __init__(self, marks: Marks, packages: Sequence[str]) -> None:
        self._marks, self._packages = marks, packages
        self._failed: set[str] = set()
        self._began, self._shared = 0.0, 0.0
        self._shared_by_file: dict[str, float] = {}
        self._caches: list[Any] = []
        self.found = Learned()

    def pytest_collection_finish(self) -> None:
        self.found.imports = self._marks.take()
        self._caches = list_caches(self._packages)

    def pytest_runtest_logstart(self) -> None:
        for each in self._caches:  # a fork that judges has none of these results
            each.cache_clear()
        self._marks.take()
        self._began, self._shared = time.process_time(), 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        """What a test makes for all of its file or of the run is no part of what it takes."""
        began, before = time.process_time(), self._shared
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                self._shared = before + time.process_time() - began

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            seen, seconds = self._marks.take(), time.process_time() - self._began - self._shared
            file = report.nodeid.partition("::")[0]
            shared = self._shared_by_file[file] = max(self._shared, self._shared_by_file.get(file, 0.0))
            if not report.failed and report.nodeid not in self._failed:
                self.found.tests[report.nodeid] = Run(max(seconds, 0.0), shared, seen)
        elif not report.passed:
            self._failed.add(report.nodeid)


def list_caches(packages: Sequence[str]) -> list[Any]:
    """The caches of functions of these packages, which this process holds."""
    gc.unfreeze()  # what is frozen is not listed
    found = [
        each
        for each in gc.get_objects()
        if isinstance(each, functools._lru_cache_wrapper)
        and str(getattr(each, "__module__", "")).split(".")[0] in packages
    ]
    gc.freeze()
    return found


def learn(tree: Path, tests: Sequence[str], path: Path, _telling: int) -> int:
    """Runs tests on SQLite, and keeps what they run; in a process of its own."""
    enter(tree, kept=["tools"])
    marks = Marks(tree)
    MarkingFinder(ROOMS, marks).enter()
    learning = Learning(marks, ROOMS)
    pytest.main([*tests, *QUICK, "-p", "no:cacheprovider", "-W", "ignore", *ON_SQLITE], plugins=[learning])
    write(learning.found, path)
    return 0


def write(learned: Learned, path: Path) -> None:
    """Keeps what was learned; modules stand there once, and tests name them by number."""
    modules = sorted({module for run in learned.tests.values() for module in run.seen})
    numbers = {module: number for number, module in enumerate(modules)}
    tests = {
        test: [run.seconds, run.shared, {numbers[module]: f"{seen:x}" for module, seen in run.seen.items()}]
        for test, run in learned.tests.items()
    }
    imports = {module: f"{seen:x}" for module, seen in learned.imports.items()}
    kept = {"digests": learned.digests, "imports": imports, "modules": modules, "tests": tests}
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(kept))
    unfinished.replace(path)


def read(path: Path) -> Learned:
    """What was kept; nothing if there is no file, or one of an older form."""
    kept = json.loads(path.read_text()) if path.exists() else {}
    if "modules" not in kept:
        return Learned()
    modules = kept["modules"]
    tests = {
        test: Run(seconds, shared, {modules[int(number)]: int(seen, 16) for number, seen in seens.items()})
        for test, (seconds, shared, seens) in kept["tests"].items()
    }
    imports = {module: int(seen, 16) for module, seen in kept["imports"].items()}
    return Learned(tests, imports, {path: (whole, outside) for path, (whole, outside) in kept["digests"].items()})
