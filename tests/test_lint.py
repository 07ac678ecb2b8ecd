"""Style, types, the walls between the packages, and the contract: what `tox run -e lint` runs, beside the other tests.

A tox environment of its own would install all packages a second time, which takes longer than most of these commands.
"""

import os
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def lint_commands() -> list[str]:
    """The commands of the lint section of tox.ini."""
    sections = ConfigParser()
    sections.read(ROOT / "tox.ini")
    return sections["testenv:lint"]["commands"].split("\n")[1:]


@pytest.mark.parametrize("command", lint_commands())
def test_lint_finds_nothing(command: str) -> None:
    program, *arguments = command.split()
    installed = Path(sys.executable).with_name(program)
    # What mypy would keep for the next time takes a tenth of its time to write; whoever calls it by hand keeps it.
    kept = {} if (ROOT / ".mypy_cache").exists() else {"MYPY_CACHE_DIR": os.devnull}
    environment = {**os.environ, **kept}

    done = subprocess.run(
        [installed, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
