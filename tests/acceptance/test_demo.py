"""What a newcomer sees first: `make serve` runs this command."""

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import requests

from relayboard.phone.phone import Phone
from relayboard.phone.wire import HttpTransport
from relayboard.processes import listen
from testbed.patience import PATIENCE_SECONDS

Result = TypeVar("Result")


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
        teams = browser.get(f"{root}/api/v2/teams.json").json()["results"]
        assert sorted((each["name"], len(each["members"])) for each in teams) == [
            ("Clinic desk", 2),
            ("Home visits", 1),
        ]
        names = [contact["urns"] for contact in page["results"] if contact["urns"] != ["tel:+250788000111"]]
        return browser.get(f"{root}/api/v2/account.json").json(), len(names)


def claim_another_phone(link: str) -> None:
    """A phone of the newcomer, claimed after that of the demo."""
    root, _, query = link.partition("/#/demo?")
    phone = Phone(HttpTransport(root))
    phone.register()
    with requests.Session() as browser:
        assert browser.post(f"{root}/api/v2/sessions.json", json=dict(parse_qsl(query))).status_code == 201
        csrf_token = browser.get(f"{root}/api/v2/account.json").json()["csrf_token"]
        body = {"claim_code": phone.state.claim_code, "phone": "+250788777888", "name": "Newer"}
        claimed = browser.post(f"{root}/api/v1/relayers.json", json=body, headers={"X-CSRF-Token": csrf_token})
        assert claimed.status_code == 201, claimed.text


def run_demo(folder: Path, look: Callable[[str], Result]) -> tuple[list[str], Result]:
    """What the demo tells until everything works, and what one finds at the link to the console that it prints."""
    command = [sys.executable, "-W", "ignore", "-m", "relayboard", "demo", "--port", str(free_port())]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    told = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            told.append(line.strip())
            if "Everything works" in line or "The story stopped" in line:
                break
        found = look(next(line for line in told if line.startswith("Console")).split()[1])
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    assert [line[:2] for line in told if line[1:2] == "."] == ["1.", "2.", "3.", "4.", "5.", "6."], "\n".join(told)
    assert any(line.endswith("was told: mo_sms, mt_sent, mt_dlvd") for line in told)
    return told, found


def test_the_demo_tells_the_whole_story_also_when_a_newer_phone_was_claimed(tmp_path: Path) -> None:
    def look(link: str) -> tuple[Any, int]:
        claim_another_phone(link)
        return open_link(link)

    _, (signed_in, contacts) = run_demo(tmp_path, look)
    told, _ = run_demo(tmp_path, open_link)

    with closing(sqlite3.connect(tmp_path / "var" / "relayboard.db")) as database:
        webhooks = dict(database.execute("SELECT name, webhook_url FROM channel WHERE is_active"))
    (receiver,) = (line.split()[-1] for line in told if line.startswith("Webhooks"))
    assert (signed_in["workspace"]["name"], contacts) == ("Demo clinic", 200)
    assert (webhooks["Clinic phone"], webhooks["Newer"]) == (receiver, None)
