"""Shows mutants to tests: a process that has imported what tests need from others is forked for each of them."""

import contextlib
import importlib
import itertools
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tools.mutants.sampling import Mutant, mutate

KILLED, SURVIVED, TIMED_OUT, UNTESTED = "killed", "survived", "timed out", "untested"
PRELOADED = (
    *("pytest", "hypothesis", "sqlalchemy.dialects.postgresql", "psycopg2", "connexion", "starlette.testclient"),
    *("huey", "jsonschema_rs", "openapi_spec_validator", "phonenumbers", "babel", "pycountry", "cryptography"),
)
TESTS_FAILED, NO_TESTS = 1, 5
MEMORY_BYTES = 6 * 1024**3
IDLE_FACTOR = 3
_TIMES = itertools.count(1_000_000_000)


@contextlib.contextmanager
def copied_tree(root: Path) -> Iterator[Path]:
    """A copy of all files of the project: the working tree itself is never changed."""
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root,
            capture_output=True,
            check=True,
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (root / name).is_file():
                target = Path(folder) / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes((root / name).read_bytes())
        yield Path(folder)


def preload() -> None:
    """Imports what all tests import and no mutant changes."""
    for name in PRELOADED:
        importlib.import_module(name)


@dataclass(frozen=True)
class Stage:
    """Test files or single tests, and options of pytest with them."""

    tests: Sequence[str]
    options: Sequence[str] = ()


@dataclass(frozen=True)
class Outcome:
    """What tests said, and the one that failed first."""

    verdict: str
    failed: str = ""


@dataclass
class Judge:
    """Shows mutants of a tree to tests. A test that fails notices a mutant only if it passes without it: `sound` are
    those that do, `unsound` those that do not, which nobody is shown any more. `seconds` are of a processor.
    """

    tree: Path
    seconds: int
    sound: set[str] = field(default_factory=set)
    unsound: set[str] = field(default_factory=set)

    def judge(self, mutant: Mutant, stages: Sequence[Stage]) -> str:
        """What becomes of a mutant: each stage is shown it until one notices."""
        outcomes = [UNTESTED]
        for stage in stages:
            if stage.tests:
                outcomes.append(self._show(mutant, stage))
            if outcomes[-1] in (KILLED, TIMED_OUT):
                return outcomes[-1]
        return SURVIVED if SURVIVED in outcomes else UNTESTED

    def _show(self, mutant: Mutant, stage: Stage) -> str:
        while True:
            with mutated(self.tree, mutant):
                outcome = run_tests(self.tree, self._without_unsound(stage), self.seconds)
            if outcome.verdict != KILLED or not outcome.failed or self._is_sound(outcome.failed):
                return outcome.verdict

    def _is_sound(self, test: str) -> bool:
        if test not in self.sound:
            passes = run_tests(self.tree, Stage([test]), self.seconds).verdict == SURVIVED
            (self.sound if passes else self.unsound).add(test)
        return test in self.sound

    def _without_unsound(self, stage: Stage) -> Stage:
        return Stage(stage.tests, [*stage.options, *(f"--deselect={test}" for test in sorted(self.unsound))])


@contextlib.contextmanager
def mutated(tree: Path, mutant: Mutant) -> Iterator[None]:
    """The tree with this mutant meanwhile."""
    path = tree / mutant.path
    source = path.read_text(encoding="utf-8")
    before = path.stat().st_mtime
    path.write_text(mutate(source, mutant), encoding="utf-8")
    os.utime(path, times=(before, next(_TIMES)))  # Python keeps compiled code by the second and the length
    try:
        yield
    finally:
        path.write_text(source, encoding="utf-8")
        os.utime(path, times=(before, before))


def run_tests(tree: Path, stage: Stage, seconds: int) -> Outcome:
    """Runs tests of a tree in a fork of this process until one fails."""
    return in_fork(partial(_run_afresh, tree, stage, seconds), seconds)


def in_fork(work: Callable[[int], int], seconds: int) -> Outcome:
    """What a fork of this process says: `work` is given a file in which it writes the test that failed, and its result
    is an exit status of pytest. The seconds are those of a processor, so that a machine that does other work, or a
    process that was stopped, takes nothing from them; a process that waits without an end has three times as many.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _be_child(work, writing)
    os.close(writing)
    has_ended = False
    with open(os.pidfd_open(pid)) as ending:  # readable when the process has ended
        for _ in range(seconds * IDLE_FACTOR):
            has_ended = bool(select.select([ending], [], [], 1)[0])
            if has_ended:
                break
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    with open(reading, encoding="utf-8") as lines:
        failed = lines.read().partition("\n")[0]
    code = os.waitstatus_to_exitcode(status)
    if not has_ended or code == -signal.SIGXCPU:
        return Outcome(TIMED_OUT)
    return Outcome({0: SURVIVED, NO_TESTS: UNTESTED}.get(code, KILLED), failed)


class _Telling:
    """A plugin of pytest that writes the names of tests that fail."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            os.write(self._descriptor, f"{report.nodeid}\n".encode())

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            os.write(self._descriptor, f"{report.nodeid}\n".encode())


def _be_child(work: Callable[[int], int], telling: int) -> None:
    """Never returns."""
    code = TESTS_FAILED
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        code = work(telling)
    except BaseException:
        code = TESTS_FAILED
    finally:
        os._exit(code)


def enter(tree: Path, kept: Sequence[str] = ()) -> None:
    """What this process imports next comes from a tree, but for packages that are kept."""
    os.chdir(tree)
    ours = {path.stem for path in tree.iterdir()} - set(kept)
    for name in [each for each in sys.modules if each.split(".")[0] in ours]:
        del sys.modules[name]
    sys.path.insert(0, str(tree))


def _run_afresh(tree: Path, stage: Stage, seconds: int, telling: int) -> int:
    """The exit status of pytest with modules that are imported anew."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    enter(tree)
    pytest = importlib.import_module("pytest")
    options = ["-x", "-p", "no:cacheprovider", "-W", "ignore", *stage.options]
    return int(pytest.main([*options, *stage.tests], plugins=[_Telling(telling)]))
