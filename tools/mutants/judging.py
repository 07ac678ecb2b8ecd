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
NOTICED = (KILLED, TIMED_OUT)
PRELOADED = (
    *("pytest", "hypothesis", "sqlalchemy.dialects.postgresql", "psycopg2", "connexion", "starlette.testclient"),
    *("huey", "jsonschema_rs", "openapi_spec_validator", "phonenumbers", "babel", "pycountry", "cryptography"),
)
TESTS_FAILED, NO_TESTS = 1, 5
NOT_ALL_OF_IT = 64
"""The exit status of a fork whose tests passed with a mutant that it could not put in place everywhere."""
ENDED_FOR_TIME = (-signal.SIGXCPU, -signal.SIGALRM)
MEMORY_BYTES = 6 * 1024**3
WALL_FACTOR, LONGEST_NAME = 6, 2000
SOUND_FACTOR = 10
"""Without a mutant tests end: that they are slow on a busy machine must not make them unsound."""
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
    """What tests said, and the one that failed first, or was under way when time was up."""

    verdict: str
    failed: str = ""
    is_whole: bool = True
    seconds: float = field(default=0.0, compare=False)
    """What it took of a processor."""

    @property
    def is_noticed(self) -> bool:
        return self.verdict in NOTICED


@dataclass
class Judge:
    """Shows mutants of a tree to tests. A test that fails notices a mutant only if it passes without it: `sound` are
    those that do, `unsound` those that do not, which nobody is shown any more. `seconds` are of a processor.
    """

    tree: Path
    seconds: int
    sound: set[str] = field(default_factory=set)
    unsound: set[str] = field(default_factory=set)

    def judge(self, mutant: Mutant, stages: Sequence[Stage]) -> Outcome:
        """What becomes of a mutant: each stage is shown it until one notices."""
        outcomes = [Outcome(UNTESTED)]
        for stage in stages:
            if stage.tests:
                outcomes.append(self._show(mutant, stage))
            if outcomes[-1].is_noticed:
                return outcomes[-1]
        return Outcome(SURVIVED if any(each.verdict == SURVIVED for each in outcomes) else UNTESTED)

    def _show(self, mutant: Mutant, stage: Stage) -> Outcome:
        while True:
            with mutated(self.tree, mutant):
                outcome = run_tests(self.tree, self._without_unsound(stage), self.seconds)
                if outcome.verdict == TIMED_OUT and "::" in outcome.failed:
                    outcome = self._alone(outcome)
            if not outcome.is_noticed or self._is_sound(outcome.failed, stage):
                return outcome
            if not outcome.failed:
                return Outcome(UNTESTED)

    def _alone(self, outcome: Outcome) -> Outcome:
        """What the test says by itself that was under way when time was up: those before it may have taken it all."""
        alone = run_tests(self.tree, Stage([outcome.failed]), self.seconds)
        return outcome if alone.is_noticed else Outcome(SURVIVED)

    def _is_sound(self, test: str, stage: Stage) -> bool:
        """Whether a test passes without a mutant, or a file can be imported; if none was named, all of the stage."""
        if not test:
            whole = self._without_unsound(stage)
            return self._passes(Stage(whole.tests, [*whole.options, "--collect-only"]))
        if test not in self.sound | self.unsound:
            passes = self._passes(Stage([test], () if "::" in test else ("--collect-only",)))
            (self.sound if passes else self.unsound).add(test)
        return test in self.sound

    def _passes(self, stage: Stage) -> bool:
        return run_tests(self.tree, stage, self.seconds * SOUND_FACTOR).verdict == SURVIVED

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


def in_fork(work: Callable[[int], int], seconds: float) -> Outcome:
    """What a fork of this process says: `work` is given a file in which it notes each test that begins, and its result
    is an exit status of pytest. The seconds are those of a processor, so that a machine that does other work, or a
    process that was stopped, takes nothing from them; a process that waits without an end has six times as many.
    """
    noted = os.memfd_create("noted")
    pid = os.fork()
    if pid == 0:
        _be_child(work, noted)
    with open(os.pidfd_open(pid)) as ending:  # readable when the process has ended
        has_ended = bool(select.select([ending], [], [], seconds * WALL_FACTOR)[0])
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    last = os.pread(noted, LONGEST_NAME, 0).decode(errors="replace")
    os.close(noted)
    code = os.waitstatus_to_exitcode(status)
    if not has_ended or code in ENDED_FOR_TIME:
        return Outcome(TIMED_OUT, last)
    if code in (0, NOT_ALL_OF_IT):
        return Outcome(SURVIVED, is_whole=code == 0)
    return Outcome(UNTESTED) if code == NO_TESTS else Outcome(KILLED, last)


def note(noted: int, test: str) -> None:
    """Says which test begins."""
    os.ftruncate(noted, 0)
    os.pwrite(noted, test.encode(), 0)


def allow(seconds: float, waiting: float) -> None:
    """Ends this process when it has used so many more seconds of a processor, or when so many have gone by."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + seconds) + 1, most))
    signal.setitimer(signal.ITIMER_REAL, waiting)


class _Noting:
    """A plugin of pytest that notes which test begins, or what could not be imported."""

    def __init__(self, noted: int) -> None:
        self._noted = noted

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        note(self._noted, nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            note(self._noted, report.nodeid)


def _be_child(work: Callable[[int], int], noted: int) -> None:
    """Never returns."""
    code = TESTS_FAILED
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        code = work(noted)
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


def _run_afresh(tree: Path, stage: Stage, seconds: int, noted: int) -> int:
    """The exit status of pytest with modules that are imported anew."""
    allow(seconds, seconds * WALL_FACTOR)
    enter(tree)
    pytest = importlib.import_module("pytest")
    options = ["-x", "-p", "no:cacheprovider", "-W", "ignore", *stage.options]
    return int(pytest.main([*options, *stage.tests], plugins=[_Noting(noted)]))
