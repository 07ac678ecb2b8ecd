"""What a newcomer sees first: `make serve` runs this command."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import requests

from relayboard.processes import listen
from testbed.patience import PATIENCE_SECONDS


def free_port() -> int:
    with listen("127.0.0.1", 0) as taken:
        return int(taken.getsockname()[1])


def open_link(link: str) -> tuple[Any, int]:
    """What the console does with the link: the account that it signs in to, and how many contacts it sees in a page or
    two, without the one of the story.
    """
    root, _, query = link.partition("/#/demo?")
    proof = dict(parse_qsl(query))
    with requests.Session() as browser:
        assert browser.post(f"{root}/api/v2/sessions.json", json=proof).status_code == 201
        page = browser.get(f"{root}/api/v2/contacts.json").json()
        names = [contact["urns"] for contact in page["results"] if contact["urns"] != ["tel:+250788000111"]]
        return browser.get(f"{root}/api/v2/account.json").json(), len(names)


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
        signed_in, contacts = open_link(next(line for line in told if line.startswith("Console")).split()[1])
    finally:
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=PATIENCE_SECONDS)

    steps = [line[:2] for line in told if line[1:2] == "."]
    assert steps == ["1.", "2.", "3.", "4.", "5.", "6."], "\n".join([*told, rest])
    assert any(line.endswith("was told: mo_sms, mt_sent, mt_dlvd") for line in told)
    assert process.returncode == 0
    assert (signed_in["workspace"]["name"], contacts) == ("Demo clinic", 200)
