"""`/api/v2/deliveries.json` and what belongs to it over HTTP."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from persistence.deliveries.leases import AttemptOutcome, lease_deliveries, list_due_receivers, record_attempts
from persistence.deliveries.outbox import ChannelEvent, record_channel_events
from persistence.resthooks import create_subscriber, ensure_resthook, record_resthook_event
from persistence.tables.channels import channel
from persistence.tables.contacts import contact
from persistence.tables.deliveries import DELIVERED, FAILED
from tests.api import Api
from tests.channel_rows import add_channel, add_contact

LIST, ONE = "/api/v2/deliveries.json", "/api/v2/delivery.json"
ACT, LEDGER = "/api/v2/delivery_actions.json", "/api/v2/delivery_ledger.json"
URL = "https://hooks.example.org/in?key=s3cret"
PHONE = "3f0c1a52-8b7e-4d19-9a60-5c2f7be0d411"
SECRETIVE = b'{"status": "no", "access_token": "abc123", "note": "Bearer abcdefgh123"}'


@pytest.fixture
def subscriber(api: Api) -> int:
    with api.database.writing() as tx:
        ensure_resthook(tx, api.workspace.id, "new-birth")
        return create_subscriber(tx, api.workspace.id, "new-birth", "https://b.example.org/r")


@pytest.fixture
def events(api: Api, subscriber: int) -> list[str]:
    """A delivered and a failed event of a channel, and a pending one of a resthook."""
    phone = add_channel(api.database, api.workspace, uuid=PHONE, name="Front desk", webhook_url=URL)
    contact = add_contact(api.database, api.workspace)
    with api.database.writing() as tx:
        fields = {"text": "Hello"}
        both = [ChannelEvent("mo_sms", fields, contact), ChannelEvent("mt_sent", fields)]
        made = record_channel_events(tx, api.workspace.id, phone, both)
        leased = lease_deliveries(tx, dict.fromkeys(list_due_receivers(tx), 5), timedelta(seconds=9))
        accepted = AttemptOutcome(DELIVERED, None, 200, None, b"ok", 0.1, signed="v1 v1a")
        refused = AttemptOutcome(
            FAILED, None, 500, None, SECRETIVE, 0.1, answer_headers={"Content-Type": "application/json"}
        )
        record_attempts(tx, list(zip(leased, (accepted, refused), strict=True)))
        return made + record_resthook_event(tx, api.workspace.id, "new-birth", {"flow": None})


def uuids(api: Api, **filters: Any) -> list[str]:
    return [each["uuid"] for each in api.results(LIST, **filters)]


def test_they_are_found_by_receiver_event_status_contact_and_time(api: Api, events: list[str], subscriber: int) -> None:
    first, second, third = events
    listed = api.results(LIST)

    assert {each["uuid"] for each in listed} == set(events)
    assert uuids(api, receiver=PHONE, event="mo_sms") == [first] == uuids(api, contact=listed[-1]["contact"]["uuid"])
    assert uuids(api, receiver=subscriber) == [third] == uuids(api, status="pending")
    assert uuids(api, status="failed") == [second]
    assert uuids(api, before="2020-01-01") == [] == uuids(api, receiver="0" * 8 + PHONE[8:])
    assert len(uuids(api, after="2020-01-01")) == 3
    assert api.get(LIST, receiver="x").status_code == api.get(LIST, status="x").status_code == 400


def test_a_contact_without_a_name_has_none_here_as_in_other_lists(api: Api, events: list[str]) -> None:
    with api.database.writing() as tx:
        tx.execute(update(contact).values(name=None))

    named = {each["uuid"]: each["contact"] for each in api.results(LIST)}
    (known,) = api.results("/api/v2/contacts.json")
    assert named[events[0]] == {"uuid": known["uuid"], "name": None} == api.get(ONE, uuid=events[0]).json()["contact"]
    assert named[events[1]] is None


def test_one_is_shown_with_its_request_its_response_and_the_time_it_took(api: Api, events: list[str]) -> None:
    delivered, failed = (api.get(ONE, uuid=uuid).json() for uuid in events[:2])

    assert (delivered["body"], delivered["content_type"]) == ("text=Hello", "application/x-www-form-urlencoded")
    (attempt,) = delivered["attempt_log"]
    assert attempt["request"]["headers"]["webhook-id"] == events[0]
    assert attempt["request"]["headers"]["webhook-signature"] == "v1,*** v1a,***"
    assert (attempt["number"], attempt["duration_ms"], attempt["error"]) == (1, 100, None)
    assert attempt["response"] == {"status": 200, "headers": {}, "body": "ok"}
    assert failed["attempt_log"][0]["response"]["headers"] == {"Content-Type": "application/json"}


def test_secrets_are_hidden_in_what_is_kept(api: Api, events: list[str]) -> None:
    shown = api.get(ONE, uuid=events[1])

    assert "s3cret" not in shown.text and "abc" not in shown.text
    assert shown.json()["url"] == "https://hooks.example.org/in?key=***"
    assert shown.json()["attempt_log"][0]["response"]["body"] == (
        '{"status": "no", "access_token": ***, "note": "Bearer ***"}'
    )


def test_one_many_or_all_that_failed_are_sent_again_to_where_the_receiver_is_now(api: Api, events: list[str]) -> None:
    with api.database.writing() as tx:
        tx.execute(update(channel).values(webhook_url="https://elsewhere.example.org/"))

    assert api.post(ACT, {"action": "resend", "deliveries": events}).json() == {"resent": 2}
    assert {each["url"] for each in api.results(LIST, receiver=PHONE)} == {"https://elsewhere.example.org/"}
    assert api.get(LEDGER).json() == {"made": 3, "delivered": 0, "failed": 0, "pending": 3}


def test_all_that_failed_since_a_moment_are_sent_again(api: Api, events: list[str], subscriber: int) -> None:
    failed = {"action": "resend_failed", "since": "2020-01-01T00:00:00Z"}

    assert api.post(ACT, failed | {"receiver": str(subscriber)}).json() == {"resent": 0}
    assert api.post(ACT, failed | {"since": "2100-01-01T00:00:00Z"}).json() == {"resent": 0}
    assert api.post(ACT, failed | {"receiver": PHONE}).json() == {"resent": 1}
    assert uuids(api, status="failed") == []


def test_all_or_none_are_sent_again(api: Api, events: list[str]) -> None:
    unknown = "00000000-0000-4000-8000-000000000000"

    assert api.post(ACT, {"action": "resend", "deliveries": [events[1], unknown]}).status_code == 400
    with api.database.writing() as tx:
        tx.execute(update(channel).values(webhook_url=None))
    assert api.post(ACT, {"action": "resend", "deliveries": events[:2]}).status_code == 400
    assert api.post(ACT, {"action": "resend"}).status_code == api.post(ACT, {"action": "resend_failed"}).status_code
    assert uuids(api, status="failed") == [events[1]]


def test_the_ledger_balances_for_each_receiver(api: Api, events: list[str], subscriber: int) -> None:
    assert api.get(LEDGER).json() == {"made": 3, "delivered": 1, "failed": 1, "pending": 1}
    assert api.get(LEDGER, receiver=PHONE).json() == {"made": 2, "delivered": 1, "failed": 1, "pending": 0}
    assert api.get(LEDGER, receiver=subscriber, after="2100-01-01").json()["made"] == 0
