"""docs/first-programme.md: an empty workspace becomes a running programme by the program that the page prints."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.running import forked_service, wait_until
from tests.documentation import ROOT, read_blocks
from tests.thinned import EVERY_CASE
from tests.worker.receivers import Reply, receiving

LONGEST = 150
COUNT = 120


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"] if EVERY_CASE else ["sqlite"], indirect=True)
def test_the_program_of_the_page_makes_a_programme_that_runs(database_url: str, tmp_path: Path) -> None:
    (block,) = (each for each in read_blocks(ROOT / "docs" / "first-programme.md") if each.kind == "python")
    assert len(block.text.splitlines()) <= LONGEST
    program = tmp_path / "programme.py"
    program.write_text(block.text + "\n")
    with receiving(lambda _: Reply(200, b"{}")) as provider, forked_service(database_url, tmp_path) as service:
        environment = {"SERVER": service.url, "TOKEN": service.token, "GATEWAY": provider.url, "COUNT": str(COUNT)}
        ended = subprocess.run(
            [sys.executable, str(program)], env=os.environ | environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr + ended.stdout
        told = [
            "gateway SMS gateway",
            f"contacts {COUNT}",
            f"smart group {COUNT // 2}",
            "flow Registration",
            "keyword baby starts Registration",
            "scheduled in 14 days True",
            f"broadcast to {COUNT // 2}",
        ]
        assert ended.stdout.splitlines() == told
        wait_until(lambda: len(provider.received) == COUNT // 2, "the messages to be with the provider")
