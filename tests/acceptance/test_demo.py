"""What a newcomer sees first: `make serve`, which runs the demo."""

import json
import os
import re
import shlex
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import requests

from relayboard.phone.phone import Phone
from relayboard.phone.wire import HttpTransport
from tests.console_script import PATIENCE_SECONDS, Started, call_forked, make_environment, started
from tests.documentation import ROOT, read_blocks


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


def wait_for_story(running: Started) -> str:
    """Until it is told to the end: the link to the console that it prints."""
    running.wait_for("Everything works|The story stopped")
    told = [line.strip() for line in running.lines]
    assert [line[:2] for line in told if line[1:2] == "."] == ["1.", "2.", "3.", "4.", "5.", "6."], running.text
    assert any(line.endswith("was told: mo_sms, mt_sent, mt_dlvd") for line in told)
    return running.wait_for(r"Console +(\S+)").group(1)


def answers_of(running: Started) -> dict[str, int]:
    """The status of each address that the demo prints."""
    running.wait_for(r"curl .*/contacts\.json")  # the last that it tells
    token = running.wait_for(r"Token +(rb_\S+)").group(1)
    addresses = {root_of(running), *re.findall(r"http://[^\s)']+", running.text)}
    headers = {"Authorization": f"Token {token}"}
    return {url: requests.get(url, headers=headers, timeout=60).status_code for url in addresses}


def root_of(running: Started) -> str:
    return running.wait_for(r"API +(http://\S+)/api/").group(1)


def try_app(url: str, folder: Path) -> None:
    """Says to the demo what an app would, as docs/relayer-protocol.md prints it."""
    blocks = [block for block in read_blocks(ROOT / "docs" / "relayer-protocol.md") if block.kind == "console"]
    lines = [line.removeprefix("$ ") for block in blocks for line in block.text.splitlines()]
    said: dict[str, str] = {}
    code = "CODE"
    for line in lines:
        words = [code if word == "CODE" else word for word in shlex.split(line.replace("http://127.0.0.1:8080", url))]
        done = call_forked(*words[1:], folder=folder, environment=make_environment())
        assert done.returncode == 0, (line, done.stderr)
        said[line] = done.stdout
        code = json.loads(done.stdout).get("claim_code") or code
        assert ("> POST /relayers/relayer/" in done.stderr) is ("--wire" in words), line

    shown = {line: json.loads(text) for line, text in said.items() if " phone " in line}
    assert [line for line, each in shown.items() if each["refused"]] == [line for line in shown if "offset" in line]
    assert json.loads(said[lines[-1]])["relayer_id"] is None


def test_make_serve_tells_the_story_with_no_dead_address_and_again_when_a_newer_phone_was_claimed(
    installed: Path,
) -> None:
    with started("serve", "PORT=0", folder=installed, command=["make"]) as running:
        link = wait_for_story(running)
        claim_another_phone(link)
        signed_in, contacts = open_link(link)
        answers = answers_of(running)
        try_app(root_of(running), installed)
        os.killpg(running.process.pid, signal.SIGINT)
        running.process.wait(PATIENCE_SECONDS)
    with started("demo", "--port", "0", folder=installed) as running:
        open_link(wait_for_story(running))
        (receiver,) = (line.split()[-1] for line in running.lines if line.strip().startswith("Webhooks"))
        assert running.stop(signal.SIGINT) == 0

    with closing(sqlite3.connect(installed / "var" / "relayboard.db")) as database:
        webhooks = dict(database.execute("SELECT name, webhook_url FROM channel WHERE is_active"))
    assert (signed_in["workspace"]["name"], contacts) == ("Demo clinic", 200)
    assert (webhooks["Clinic phone"], webhooks["Newer"]) == (receiver, None)
    assert len(answers) == 6  # the service, its console and explorer, the receiver of webhooks and two lists
    assert {url: status for url, status in answers.items() if status != 200} == {}
