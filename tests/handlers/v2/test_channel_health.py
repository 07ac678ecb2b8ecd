"""The health of channels: what waits, what is wrong, and what was said to gateways."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from persistence.channels import health
from persistence.channels.event_form import Source
from persistence.channels.health import GatewayCall, check_alarms, record_calls, trim_calls
from persistence.database import Database
from persistence.relayers.commands import DeliveryReport
from persistence.relayers.reports import record_delivery_reports
from persistence.service.backlog import read_backlog
from persistence.sql.columns import time_text
from persistence.tables.accounts import workspace as workspace_table
from persistence.tables.channels import channel, gateway_call, sync_record
from persistence.tables.messages import gateway_send, message
from persistence.workspaces.records import Workspace
from testbed.gateways import SECRET, add_gateway
from tests.api import Api
from tests.channel_rows import add_channel, add_contact, add_outgoing, change_channel
from tests.conftest import Clock

CALLS, ALARMS, HEALTH, TESTS = (f"/api/v2/channel_{name}.json" for name in ("calls", "alarms", "health", "tests"))
MINUTES = len("2026-03-04T08:00")
URL = "http://127.0.0.1:1/"
FIGURES = "/api/v2/workspace_figures.json"


def uuid_of(database: Database, channel_id: int) -> str:
    with database.reading() as tx:
        return str(tx.execute(select(channel.c.uuid).where(channel.c.id == channel_id)).scalar_one())


def call_of(workspace: Workspace, channel_id: int, **values: Any) -> GatewayCall:
    call = GatewayCall(
        workspace_id=workspace.id, channel_id=channel_id, contact_id=1, message_id=7, part=1, outcome="accepted",
        method="POST", url="https://sms.example.org/?to=0788000111", headers={"Content-Type": "text/plain"},
        body="to=0788000111", status=200, answer="OK 0788000111", error=None, duration_ms=12,
    )  # fmt: skip
    return replace(call, **values)


def test_calls_of_a_gateway_are_told_newest_first(
    api: Api, database: Database, workspace: Workspace, clock: Clock
) -> None:
    channel_id, other = add_channel(database, workspace), add_channel(database, workspace)
    for call in (
        call_of(workspace, channel_id),
        call_of(workspace, channel_id, outcome="unanswered", status=None, answer=None, error="Silence."),
        call_of(workspace, other),
    ):
        clock.advance(seconds=1)
        with database.writing() as tx:
            record_calls(tx, [call])

    latest, first = api.results(CALLS, channel=uuid_of(database, channel_id))

    assert (latest["outcome"], latest["response"], latest["error"]) == ("unanswered", None, "Silence.")
    assert first["request"]["body"] == "to=0788000111"
    assert first["response"] == {"status": 200, "body": "OK 0788000111"}
    assert [each["id"] for each in api.results(CALLS, channel=uuid_of(database, channel_id), outcome="accepted")] == [
        first["id"]
    ]


def test_messages_of_which_nobody_knows_whether_the_gateway_has_them_are_counted(
    api: Api, database: Database, workspace: Workspace
) -> None:
    channel_id, contact_id = add_channel(database, workspace), add_contact(database, workspace)
    for reason in ("uncertain", "uncertain", "resent", None):
        add_outgoing(database, workspace, channel_id, contact_id, database.clock(), "wired", failed_reason=reason)

    assert api.get(HEALTH, uuid=uuid_of(database, channel_id)).json()["uncertain"] == 2
    with database.reading() as tx:
        assert [queue.waiting.count for queue in read_backlog(tx).uncertain] == [2]


def test_the_health_of_a_gateway_tells_when_it_sent_and_received_last_and_what_it_did_not_accept(
    api: Api, database: Database, workspace: Workspace, clock: Clock
) -> None:
    channel_id, silent = add_gateway(database, workspace, URL), add_gateway(database, workspace, URL)
    uuid = uuid_of(database, channel_id)
    door = f"/c/ex/{uuid}/{SECRET}"
    clock.advance(days=2)
    received_on = clock.moment
    assert api.client.get(f"{door}/receive?from=%2B250788000111&text=Hello").status_code == 200
    clock.advance(hours=20)
    sent_on = clock.moment
    sent = api.post(TESTS, {"urn": "tel:+250788000111", "text": "Hello"}, uuid=uuid).json()
    waiting = api.post(TESTS, {"urn": "tel:+250788000111", "text": "Hello"}, uuid=uuid_of(database, silent))
    assert (waiting.status_code, api.client.get(f"{door}/sent?id={sent['id']}").status_code) == (201, 200)
    change_channel(database, channel_id, failing_since=sent_on)
    with database.writing() as tx:
        record_calls(tx, [call_of(workspace, channel_id, outcome="refused", status=401, answer="no credit")])
    clock.advance(hours=30)
    with database.writing() as tx:
        record_calls(tx, [call_of(workspace, channel_id)])

    told = api.get(HEALTH, uuid=uuid).json()
    other = api.get(HEALTH, uuid=uuid_of(database, silent)).json()

    times = [told[name] for name in ("last_received_on", "last_sent_on", "failing_since")]
    minutes = [each[:MINUTES] for each in (*times, told["last_error"]["created_on"])]
    assert minutes == [time_text(each)[:MINUTES] for each in (received_on, sent_on, sent_on, sent_on)]
    assert (told["last_error"]["status"], told["last_error"]["error"]) == (401, None)
    unknown = ("last_received_on", "last_sent_on", "failing_since", "last_error")
    assert [other[name] for name in unknown] == [None] * len(unknown)
    clock.advance(days=health.LOOKED_BACK_DAYS)
    assert api.get(HEALTH, uuid=uuid).json()["last_received_on"] is None


def test_an_anonymous_workspace_is_not_told_whom_a_call_was_for(
    api: Api, database: Database, workspace: Workspace
) -> None:
    channel_id = add_channel(database, workspace)
    with database.writing() as tx:
        record_calls(tx, [call_of(workspace, channel_id)])
        tx.execute(update(workspace_table).where(workspace_table.c.id == workspace.id).values(is_anonymous=True))

    answer = api.get(CALLS, channel=uuid_of(database, channel_id))

    assert answer.json()["results"][0]["request"]["url"] == "***"
    assert "0788000111" not in answer.text


def test_the_log_keeps_the_latest_calls_of_each_channel(
    database: Database, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "KEPT_CALLS", 3)
    busy, quiet = add_channel(database, workspace), add_channel(database, workspace)
    with database.writing() as tx:
        record_calls(tx, [call_of(workspace, busy, message_id=number) for number in range(1, 6)])
        record_calls(tx, [call_of(workspace, quiet, message_id=9)])
    assert trim_calls(database, 2)
    assert not trim_calls(database, 2)
    with database.reading() as tx:
        rows = gateway_call.c
        assert sorted(tx.execute(select(rows.message_id)).scalars()) == [3, 4, 5, 9]


def test_the_health_of_a_phone_tells_what_waits_and_what_is_wrong(
    api: Api, database: Database, workspace: Workspace, clock: Clock
) -> None:
    phone = add_channel(database, workspace)
    since = clock.moment
    for minutes in (0, 5):
        add_outgoing(database, workspace, phone, add_contact(database, workspace, f"+25472200011{minutes}"), since)
    clock.advance(hours=1)
    change_channel(database, phone, power_level=12, power_status="DIS")
    reports = [(0, 80, 1), (30, 40, 0), (60, 12, 2)]
    with database.writing() as tx:
        for minutes, level, pending in reports:
            row = {"workspace_id": workspace.id, "channel_id": phone, "power_level": level, "pending_count": pending}
            counts = dict.fromkeys(("retry_count", "incoming_count", "outgoing_count"), 0)
            moment = since.replace(minute=0) + timedelta(minutes=minutes)
            tx.execute(insert(sync_record).values(row | counts | {"created_on": moment}))
        check_alarms(tx)

    health = api.get(HEALTH, uuid=uuid_of(database, phone)).json()

    assert health["pending"] == 2
    assert [each["kind"] for each in health["alarms"]] == ["battery", "lost_contact"]
    assert [(each["power_level"], each["pending"]) for each in health["hours"]] == [(12, 2), (40, 0)]
    alarms = api.results(ALARMS, channel=uuid_of(database, phone))
    assert {(each["kind"], each["closed_on"]) for each in alarms} == {("battery", None), ("lost_contact", None)}


def test_each_failed_attempt_of_a_phone_counts_on_its_day(
    api: Api, database: Database, workspace: Workspace, clock: Clock
) -> None:
    phone = add_channel(database, workspace)
    contacts = [add_contact(database, workspace, f"+25472200011{number}") for number in range(2)]
    sent = [add_outgoing(database, workspace, phone, contact, clock.moment) for contact in contacts]
    source = Source(phone, uuid_of(database, phone), workspace.id, None, None)
    reports = [DeliveryReport("mt_error", sent[0], clock.moment), DeliveryReport("mt_fail", sent[1], clock.moment)]
    for _ in range(2):
        with database.writing() as tx:
            record_delivery_reports(tx, source, reports)

    (told,) = api.get(FIGURES, days=1).json()["channels"]

    assert [each["errors"] for each in told["days"]] == [2]


def test_what_a_gateway_has_waits_no_more(api: Api, database: Database, workspace: Workspace, clock: Clock) -> None:
    contact, times = add_contact(database, workspace), []
    for channel_type in ("external", "android"):
        channel_id = add_channel(database, workspace, type=channel_type)
        for status in ("wired", "queued"):
            add_outgoing(database, workspace, channel_id, contact, clock.moment, status)
        times.append(api.get(HEALTH, uuid=uuid_of(database, channel_id)).json()["pending"])

    assert times == [1, 2]


NUMBER = "+254722000333"


def test_a_test_goes_by_its_channel_also_where_another_one_serves_the_number(
    api: Api, database: Database, workspace: Workspace
) -> None:
    gateway = add_channel(database, workspace, type="external", last_seen=None)
    phone = add_channel(database, workspace)
    contact_id = add_contact(database, workspace, NUMBER)
    usual = api.post("/api/v2/messages.json", {"contact": f"tel:{NUMBER}", "text": "As usual"}).json()
    assert usual["channel"]["uuid"] == uuid_of(database, phone)

    made = api.post(TESTS, {"urn": "tel:+254 722 000 333", "text": "A test"}, uuid=uuid_of(database, gateway))

    assert made.status_code == 201
    sent = made.json()
    assert (sent["channel"]["uuid"], sent["urn"]) == (uuid_of(database, gateway), f"tel:{NUMBER}")
    assert (sent["status"], sent["contact"]["uuid"]) == ("queued", usual["contact"]["uuid"])
    with database.reading() as tx:
        assert tx.execute(select(gateway_send.c.message_id)).scalars().all() == [sent["id"]]
        assert tx.execute(select(message.c.contact_id).where(message.c.id == sent["id"])).scalar_one() == contact_id


def test_a_test_to_a_new_number_makes_its_contact_and_to_a_blocked_one_fails(
    api: Api, database: Database, workspace: Workspace
) -> None:
    uuid = uuid_of(database, add_channel(database, workspace))
    body = {"urn": f"tel:{NUMBER}", "text": "A test"}
    first = api.post(TESTS, body, uuid=uuid).json()
    assert [each["uuid"] for each in api.results("/api/v2/contacts.json", urn=f"tel:{NUMBER}")] == [
        first["contact"]["uuid"]
    ]

    api.post("/api/v2/contact_actions.json", {"contacts": [first["contact"]["uuid"]], "action": "block"})
    second = api.post(TESTS, body, uuid=uuid)

    assert (second.status_code, second.json()["status"], second.json()["channel"]) == (201, "failed", None)


def test_a_test_is_refused_where_the_channel_cannot_send_it(
    api: Api, other_api: Api, database: Database, workspace: Workspace
) -> None:
    uuid = uuid_of(database, add_channel(database, workspace))
    body = {"urn": f"tel:{NUMBER}", "text": "A test"}

    assert api.post(TESTS, {**body, "urn": "mailto:ann@example.org"}, uuid=uuid).json() == {
        "urn": ["This channel sends to tel."]
    }
    assert api.post(TESTS, {**body, "urn": "nonsense"}, uuid=uuid).json() == {
        "urn": ["Expected a URN: a scheme, a colon and an address, like tel:+250788123123."]
    }
    assert list(api.post(TESTS, {**body, "text": " "}, uuid=uuid).json()) == ["text"]
    assert other_api.post(TESTS, body, uuid=uuid).status_code == 404
    assert api.results("/api/v2/messages.json") == api.results("/api/v2/contacts.json") == []
