"""The world in which commands of the documentation run, and a folder in which `make` has installed the program."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.documentation import ROOT
from tests.relayboard.every_command.fixtures import make_database, run, world, worlds

__all__ = ["make_database", "run", "world", "worlds"]


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """What lies in the folder after `make` has installed: the Makefile, and the command below .venv."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    (tmp_path / ".venv" / ".installed").touch()
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "clinic.json", tmp_path / "docs" / "clinic.json")
    return tmp_path
