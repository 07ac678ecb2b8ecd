"""docs/first-hour.md, and the simulated phone of docs/phones.md, from top to bottom, as printed."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from testbed.running import RunningService, forked_service
from tests.console_script import call_forked
from tests.documentation import ROOT, read_blocks

EMAIL, PASSWORD = "you@example.org", "the river is wide in march"
PRINTED = "http://127.0.0.1:8080"
OUR_NAMES = {"workspace create": ("UUID", "uuid"), "phone register": ("CODE", "claim_code")}


def walk(page: str, service: RunningService) -> dict[str, Any]:
    """Types the lines of a page that begin with `$`; returns what each said last."""
    blocks = [block for block in read_blocks(ROOT / "docs" / page) if block.kind == "console"]
    lines = [line.removeprefix("$ ") for block in blocks for line in block.text.splitlines()]
    names: dict[str, str] = {}
    said: dict[str, Any] = {}
    for line in lines:
        program, *words = [names.get(word, word.replace(PRINTED, service.url)) for word in shlex.split(line)]
        if program == "curl":
            (service.folder / words[1]).write_bytes(requests.get(words[2], timeout=60).content)
            continue
        done = call_forked(*words, folder=service.folder, environment=service.environment, typed=PASSWORD + "\n")
        assert (done.returncode, done.stderr) == (0, ""), line
        action = " ".join(word for word in words if word.isalpha())
        said[action] = json.loads(done.stdout)
        for name, (placeholder, key) in OUR_NAMES.items():
            if action.startswith(name):
                names[placeholder] = said[action][key]
    return said


def listed(said: Any) -> list[Any]:
    return said if isinstance(said, list) else next(each for each in said.values() if isinstance(each, list))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RunningService]:
    """As `relayboard serve` runs it, which tests/acceptance/test_documentation.py types as the README prints it."""
    with forked_service(f"sqlite:///{tmp_path / 'relayboard.db'}", tmp_path) as running:
        yield running


def test_the_first_hour_works_as_printed(service: RunningService) -> None:
    said = walk("first-hour.md", service)
    answer = {"email": EMAIL, "password": PASSWORD}
    assert requests.post(f"{service.url}/api/v2/sessions.json", json=answer, timeout=60).status_code == 201

    assert sorted((each["text"], each["status"]) for each in listed(said["message list"])) == [
        ("Is the clinic open?", "handled"),
        ("Yes, until six.", "delivered"),
    ]


def test_the_simulated_phone_does_what_its_page_says(service: RunningService) -> None:
    said = walk("phones.md", service)

    assert [each["text"] for each in listed(said["message list"])] == ["Is the clinic open?"]
    assert [each["kind"] for each in listed(said["channel alarms"])] == ["battery"]
