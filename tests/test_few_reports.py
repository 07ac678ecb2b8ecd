"""Workers tell less of what passed, and nothing is missing from what a reader sees."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.few_reports import tell_less

ROOT = Path(__file__).parents[1]
CONFTEST = """
from pathlib import Path

from tests.few_reports import tell_less as pytest_configure

def pytest_runtest_logreport(report):
    if hasattr(report, "node"):  # here, and not in the worker
        with Path("told.txt").open("a") as file:
            print(report.nodeid.rpartition("::")[2], report.when, file=file)
"""
TESTS = """
import time, pytest

@pytest.fixture
def fails_before():
    print("said before")
    raise ValueError("cannot be set up")

@pytest.fixture
def fails_after():
    yield
    print("said after")
    raise ValueError("cannot be taken down")

@pytest.fixture
def is_slow():
    time.sleep(0.6)  # longer than --durations-min below

@pytest.fixture
def skips():
    pytest.skip("not here")

def test_passes(): pass
def test_fails():
    print("said meanwhile")
    assert 1 == 2
def test_errs_before(fails_before): pass
def test_errs_after(fails_after): pass
def test_is_slow(is_slow): pass
def test_skips(skips): pass
@pytest.mark.xfail(strict=True)
def test_passes_against_expectation(): pass
def test_says(): print("said by one that passes")
"""
DULL = ["test_passes call"]
TOLD = [
    *DULL,
    "test_fails call",
    "test_errs_before setup",
    "test_errs_after call",
    "test_errs_after teardown",
    "test_is_slow setup",
    "test_is_slow call",
    "test_skips setup",
    "test_passes_against_expectation call",
    "test_says call",
]
"""What is told at least; where a test has said something, its teardown too."""


def run(folder: Path, *arguments: str) -> tuple[int, str, list[str]]:
    """Exit code, output without durations and their number, and what was told."""
    folder.mkdir()
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_some.py").write_text(TESTS)
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "xdist.plugin", "-p", "no:cacheprovider", "-n", "1"]
    shown = ["-rA", "--durations=0", "--durations-min=0.5", "--rootdir=."]
    done = subprocess.run(
        [*command, *shown, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    output = re.sub(r"\d+\.\d+s|\d+(?= durations)", "#", done.stdout)
    return done.returncode, output, (folder / "told.txt").read_text().splitlines()


def test_a_reader_sees_the_same_as_if_all_were_told(tmp_path: Path) -> None:
    code, output, told = run(tmp_path / "few")
    whole_code, whole_output, whole_told = run(tmp_path / "all", "-p", "no:few-reports")

    assert (code, output) == (whole_code, whole_output)
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "2 failed, 4 passed, 1 skipped, 2 errors" in output
    for words in (
        "said before",
        "said meanwhile",
        "said after",
        "cannot be set up",
        "cannot be taken down",
        "not here",
    ):
        assert words in output
    assert "# setup    test_some.py::test_is_slow" in output
    assert [each for each in told if each in TOLD] == TOLD
    assert {each for each in told if each.startswith("test_passes ")} == set(DULL)
    assert {"test_passes setup", "test_passes teardown"} <= set(whole_told)


@pytest.mark.parametrize(("arguments", "is_less"), [([], True), (["-vv"], False), (["--junitxml=results.xml"], False)])
def test_everything_is_told_to_those_who_want_to_read_it(arguments: list[str], is_less: bool) -> None:
    config = pytest.Config.fromdictargs({}, ["-q", f"--rootdir={ROOT}", "-c", os.devnull, *arguments])
    config.workerinput = {}  # type: ignore[attr-defined]  # as pytest-xdist does in a worker

    tell_less(config)

    assert config.pluginmanager.has_plugin("few-reports") is is_less
