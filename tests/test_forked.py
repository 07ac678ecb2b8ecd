"""Processes that tests fork (`testbed.forked`)."""

import subprocess
import sys
from pathlib import Path

from testbed.forked import ROOT

SHOW = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from testbed.forked import fork
from tests.test_forked import LOADED, is_loaded
if __name__ == "__main__":
    sys.exit(fork(is_loaded, environment={{}}).wait() - LOADED)
"""
LOADED = 17


def is_loaded() -> int:
    """In a fork, its exit status: whether it has the program from the start."""
    return LOADED if "handlers.app" in sys.modules else LOADED + 1


def test_a_fork_has_the_program_wherever_the_first_was_made(tmp_path: Path) -> None:
    (tmp_path / "show.py").write_text(SHOW)

    assert subprocess.run([sys.executable, "show.py"], cwd=tmp_path).returncode == 0
