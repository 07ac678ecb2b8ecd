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
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.mutants.sampling import Mutant, mutate

KILLED, SURVIVED, TIMED_OUT, UNTESTED = "killed", "survived", "timed out", "untested"
PRELOADED = (
    *("pytest", "hypothesis", "sqlalchemy.dialects.postgresql", "psycopg2", "connexion", "starlette.testclient"),
    *("huey", "jsonschema_rs", "openapi_spec_validator", "phonenumbers", "babel", "pycountry", "cryptography"),
)
TESTS_FAILED, NO_TESTS = 1, 5
MEMORY_BYTES = 6 * 1024**3
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


def judge(tree: Path, mutant: Mutant, stages: Sequence[Sequence[str]], seconds: float) -> str:
    """What becomes of a mutant: each stage is shown it until one notices."""
    path = tree / mutant.path
    source = path.read_text(encoding="utf-8")
    before = path.stat().st_mtime
    path.write_text(mutate(source, mutant), encoding="utf-8")
    os.utime(path, times=(before, next(_TIMES)))  # Python keeps compiled code by the second and the length
    try:
        outcomes = [UNTESTED]
        for tests in stages:
            if tests:
                outcomes.append(run_tests(tree, tests, seconds))
            if outcomes[-1] in (KILLED, TIMED_OUT):
                return outcomes[-1]
    finally:
        path.write_text(source, encoding="utf-8")
        os.utime(path, times=(before, before))
    return SURVIVED if SURVIVED in outcomes else UNTESTED


def run_tests(tree: Path, tests: Sequence[str], seconds: float) -> str:
    """Runs test files of a tree in a fork of this process until one fails."""
    pid = os.fork()
    if pid == 0:
        _be_child(tree, tests)
    with open(os.pidfd_open(pid)) as ending:  # readable when the process has ended
        has_ended, _, _ = select.select([ending], [], [], seconds)
    if not has_ended:
        os.killpg(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return {0: SURVIVED, NO_TESTS: UNTESTED}.get(code, KILLED) if has_ended else TIMED_OUT


def _be_child(tree: Path, tests: Sequence[str]) -> None:
    """Never returns."""
    code = TESTS_FAILED
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        os.chdir(tree)
        ours = {path.stem for path in tree.iterdir()}
        for name in [each for each in sys.modules if each.split(".")[0] in ours]:
            del sys.modules[name]
        sys.path.insert(0, str(tree))
        pytest = importlib.import_module("pytest")
        code = int(pytest.main(["-x", "-p", "no:cacheprovider", "-W", "ignore", *tests]))
    except BaseException:
        code = TESTS_FAILED
    finally:
        os._exit(code)
