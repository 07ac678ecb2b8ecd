"""Style, types, the walls between the packages, and the contract: what `tox run -e lint` runs, beside the other tests.

A tox environment of its own would install all packages a second time, which takes longer than most of these commands.
"""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def lint_commands() -> list[str]:
    """The commands of the lint section of tox.ini."""
    sections = ConfigParser()
    sections.read(ROOT / "tox.ini")
    return sections["testenv:lint"]["commands"].split("\n")[1:]


@contextmanager
def kept_for_mypy() -> Iterator[str]:
    """The folder where mypy keeps what it knows of files that have not changed: that of whoever calls it by hand, or
    one for all checkouts of the user, in which one test run at a time writes.
    """
    if (ROOT / ".mypy_cache").exists():
        yield str(ROOT / ".mypy_cache")
        return
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "relayboard-tests"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "mypy.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield os.devnull
            return
        yield str(cache / "mypy")


@pytest.mark.apart
@pytest.mark.parametrize("command", lint_commands())
def test_lint_finds_nothing(command: str) -> None:
    program, *arguments = command.split()
    installed = Path(sys.executable).with_name(program)

    with kept_for_mypy() if program == "mypy" else nullcontext(os.devnull) as kept:
        done = subprocess.run(
            [installed, *arguments],
            cwd=ROOT,
            env={**os.environ, "MYPY_CACHE_DIR": kept},
            capture_output=True,
            text=True,
            check=False,
        )

    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
