from urllib.parse import parse_qs

import pytest
from sqlalchemy import select

from persistence.channels.event_form import CONTENT_TYPE
from persistence.deliveries.outbox import (
    ChannelEvent,
    NewDelivery,
    record_channel_event,
    record_channel_events,
    record_deliveries,
)
from persistence.deliveries.settings import name_receiver
from persistence.tables.deliveries import PENDING, delivery
from persistence.workspaces.writes import create_workspace
from tests.channel_rows import add_channel, add_contact

URL = "https://hooks.example.org:8443/in?key=1"
FIELDS = {"event": "mo_sms", "sms": 12, "phone": "+254722000111", "urn": "tel:+254722000111", "text": "Hello"}


def record(database, workspace, channel_id, event="mo_sms", fields=FIELDS):
    with database.writing() as tx:
        return record_channel_event(tx, workspace.id, channel_id, event, fields)


def all_rows(database):
    with database.reading() as tx:
        return tx.execute(select(delivery).order_by(delivery.c.id)).all()


def test_an_event_waits_for_delivery_as_it_was_when_it_was_made(database, workspace, clock, woken):
    channel_id = add_channel(database, workspace, webhook_url=URL)

    event_id = record(database, workspace, channel_id)

    (row,) = all_rows(database)
    assert (row.uuid, row.status, row.attempts, row.url) == (event_id, PENDING, 0, URL)
    assert (row.receiver, row.content_type) == ("https://hooks.example.org:8443", CONTENT_TYPE)
    assert row.body == "event=mo_sms&sms=12&phone=%2B254722000111&urn=tel%3A%2B254722000111&text=Hello"
    assert row.created_on == row.scheduled_on == row.due_on
    assert woken == ["webhooks"]


@pytest.mark.parametrize(
    "values",
    [{}, {"webhook_url": URL, "webhook_events": ["mt_sent"]}, {"webhook_url": URL, "is_active": False}],
    ids=["no URL", "event switched off", "released"],
)
def test_an_event_that_nobody_wants_is_not_recorded(database, workspace, woken, values):
    channel_id = add_channel(database, workspace, **values)

    assert record(database, workspace, channel_id) is None

    assert all_rows(database) == [] and woken == []


def test_another_workspace_cannot_record_events_of_a_channel(database, workspace, other_workspace):
    channel_id = add_channel(database, workspace, webhook_url=URL)

    assert record(database, other_workspace, channel_id) is None


def test_many_events_take_as_many_statements_as_one(database, workspace, statements):
    channel_id = add_channel(database, workspace, webhook_url=URL, webhook_events=["mo_sms", "mo_call"])
    events = [ChannelEvent(event, FIELDS) for event in ("mo_sms", "mt_sent", "mo_call")] * 50
    statements.clear()

    with database.writing() as tx:
        recorded = record_channel_events(tx, workspace.id, channel_id, events)

    assert len(recorded) == len(set(recorded)) == 100
    assert len([text for text in statements if "BEGIN" not in text]) <= 3


def test_events_are_undone_with_the_transaction_that_made_them(database, workspace, woken):
    channel_id = add_channel(database, workspace, webhook_url=URL)

    def record_and_fail(tx):
        record_channel_event(tx, workspace.id, channel_id, "mo_sms", FIELDS)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        database.write(record_and_fail)

    assert all_rows(database) == [] and woken == []


def test_an_anonymous_workspace_hides_numbers_from_receivers(database):
    with database.writing() as tx:
        anonymous = create_workspace(tx, "Private", is_anonymous=True)
    channel_id = add_channel(database, anonymous, webhook_url=URL)

    record(database, anonymous, channel_id)

    assert parse_qs(all_rows(database)[0].body) == {"event": ["mo_sms"], "sms": ["12"], "text": ["Hello"]}


def test_bodies_of_any_kind_can_be_delivered(database, workspace):
    contact_id = add_contact(database, workspace)
    body = '{"text": "Zoë"}'.encode()
    made = NewDelivery("flow", URL, "application/json", body, subscriber_id=7, contact_id=contact_id)

    with database.writing() as tx:
        record_deliveries(tx, workspace.id, [made])

    (row,) = all_rows(database)
    assert (row.body.encode(), row.subscriber_id, row.contact_id) == (body, 7, contact_id)


def test_a_receiver_is_scheme_host_and_port():
    assert name_receiver("HTTPS://User:word@Example.org:81/path?q") == "https://example.org:81"
