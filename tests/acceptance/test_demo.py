"""What a newcomer sees first: `make serve` runs this command."""

import signal
import subprocess
import sys
from pathlib import Path

from relayboard.processes import listen
from testbed.patience import PATIENCE_SECONDS


def free_port() -> int:
    with listen("127.0.0.1", 0) as taken:
        return int(taken.getsockname()[1])


def test_the_demo_tells_the_whole_story_and_ends_when_asked(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "relayboard", "demo", "--port", str(free_port())]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    told = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            told.append(line.strip())
            if "Everything works" in line:
                break
    finally:
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=PATIENCE_SECONDS)

    steps = [line[:2] for line in told if line[1:2] == "."]
    assert steps == ["1.", "2.", "3.", "4.", "5.", "6."], "\n".join([*told, rest])
    assert any(line.endswith("was told: mo_sms, mt_sent, mt_dlvd") for line in told)
    assert process.returncode == 0
