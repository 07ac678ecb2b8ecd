"""Waiting for the output of a command."""

import time
from pathlib import Path

import pytest

from tests.console_script import PATIENCE_SECONDS, started


@pytest.mark.parametrize("script", ["echo last words; exit 3", "echo last words; exec >&- 2>&-; exit 3"])
def test_waiting_ends_when_the_process_has_ended(script: str, tmp_path: Path) -> None:
    began = time.monotonic()

    with started("-c", script, folder=tmp_path, command=["sh"]) as running:
        with pytest.raises(AssertionError, match=r"'listens' was not written:\nlast words"):
            running.wait_for("listens")
        assert running.wait_for("last (words)").group(1) == "words"

    assert time.monotonic() - began < PATIENCE_SECONDS
