import logging
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import insert, select

from persistence.deliveries.leases import AttemptOutcome
from persistence.deliveries.outbox import NewDelivery, record_channel_event, record_deliveries
from persistence.deliveries.receivers import send_test
from persistence.deliveries.settings import LEAST_GIVEN_UP
from persistence.tables.channels import channel
from persistence.tables.deliveries import DELIVERED, FAILED, PENDING, webhook_trouble
from testbed.running import wait_until
from testbed.set_by_name import settings_with
from tests.channel_rows import add_channel
from tests.worker.receivers import Reply
from tests.worker.webhooks.test_attempts import EVENT
from worker.metrics import registry
from worker.webhooks.dispatcher import Recorded, begin_webhooks, note_health


@pytest.fixture
def channel_id(database, workspace, receiver):
    """A channel whose receiver has failed for nearly five days."""
    channel_id = add_channel(database, workspace, webhook_url=receiver.url)
    with database.writing() as tx:
        times = {"began_on": tx.now - timedelta(days=5), "last_failed_on": tx.now - timedelta(hours=1)}
        counts = {"given_up": LEAST_GIVEN_UP - 1, "channel_id": channel_id, "workspace_id": workspace.id}
        tx.execute(insert(webhook_trouble).values(**times, **counts))
    return channel_id


@pytest.fixture
def add(database, workspace, channel_id):
    def add_event():
        with database.writing() as tx:
            return record_channel_event(tx, workspace.id, channel_id, "mo_sms", {"text": "Hello"})

    return add_event


def read_trouble(database):
    with database.reading() as tx:
        return tx.execute(select(webhook_trouble)).one_or_none()


def sample(name, **labels):
    return registry.get_sample_value(name, labels) or 0.0


def test_a_receiver_that_failed_for_long_is_switched_off_logged_and_counted(
    database, add, receiver, finish, channel_id, caplog
):
    receiver.respond = lambda request: Reply(500)
    before = sample("relayboard_webhooks_switched_off_total", kind="channel")
    add()

    def is_logged():
        return any(f"channel {channel_id} was switched off" in record.getMessage() for record in caplog.records)

    with caplog.at_level(logging.WARNING, "relayboard.webhooks"):
        finish()
        wait_until(is_logged, "the line that follows the commit")

    row = read_trouble(database)
    assert row.switched_off_on is not None and "20 deliveries were given up" in row.reason
    assert row.reason.endswith("the receiver responded with status 500.")
    assert sample("relayboard_webhooks_switched_off_total", kind="channel") == before + 1
    assert add() is None


@pytest.mark.parametrize("body", [b"", b'{"text": "Thanks"}'])
def test_one_accepted_event_makes_it_healthy(database, add, receiver, finish, body):
    receiver.respond = lambda request: Reply(200, body)
    add()

    finish()

    assert read_trouble(database) is None


def test_a_retry_that_follows_says_nothing_yet(database, add, receiver, finish):
    answers = [Reply(500), Reply(500), Reply(200)]
    receiver.respond = lambda request: answers.pop(0)
    add()

    finish()

    assert read_trouble(database) is None and answers == []


def test_a_test_event_that_is_accepted_switches_on(database, workspace, add, receiver, finish, channel_id):
    receiver.respond = lambda request: Reply(500)
    add()
    finish()
    assert add() is None
    receiver.respond = lambda request: Reply(200)

    with database.writing() as tx:
        uuid = tx.execute(select(channel.c.uuid).where(channel.c.id == channel_id)).scalar_one()
        send_test(tx, workspace.id, uuid)
    finish()

    assert read_trouble(database) is None and add() is not None


def test_a_delivery_of_nobody_concerns_no_receiver(database, workspace, receiver, finish):
    receiver.respond = lambda request: Reply(500)
    with database.writing() as tx:
        record_deliveries(tx, workspace.id, [NewDelivery("test", receiver.url, "text/plain", b"x")])

    finish()

    assert read_trouble(database) is None


def test_nothing_is_counted_when_metrics_are_off(runtime, add, receiver):
    quiet = replace(runtime, settings=replace(runtime.settings, metrics=False))
    before = sample("relayboard_delivery_delay_seconds_count")
    add()

    begin_webhooks(quiet)
    assert receiver.wait_for(1)
    quiet.closing.close()

    assert sample("relayboard_delivery_delay_seconds_count") == before


def test_attempts_are_counted_by_what_became_of_them_with_their_delay(add, receiver, finish):
    names = ("delivered", "pending", "failed")
    answers = [Reply(500), Reply(200)]
    receiver.respond = lambda request: answers.pop(0)
    before = [sample("relayboard_delivery_attempts_total", outcome=name) for name in names]
    observed = sample("relayboard_delivery_delay_seconds_count")
    add()

    finish()
    wait_until(lambda: sample("relayboard_delivery_delay_seconds_count") > observed + 1, "both attempts to be counted")

    after = [sample("relayboard_delivery_attempts_total", outcome=name) for name in names]
    assert [new - old for new, old in zip(after, before, strict=True)] == [1, 1, 0]
    assert sample("relayboard_delivery_delay_seconds_count") == observed + 2


@pytest.mark.parametrize(("days", "is_off"), [("4", True), ("6", False), ("0", False)])
def test_an_operator_sets_after_how_many_days_a_receiver_is_switched_off(
    database, runtime, add, receiver, ledger, days, is_off
):
    receiver.respond = lambda request: Reply(500)
    add()
    step = begin_webhooks(replace(runtime, settings=settings_with(runtime.settings, WEBHOOK_SWITCH_OFF_DAYS=days)))

    def is_done():
        step()
        return not ledger().pending

    wait_until(is_done, "the delivery to be given up")
    assert (read_trouble(database).switched_off_on is not None) == is_off


@pytest.mark.parametrize(
    ("states", "given_up"),
    [
        ([PENDING], None),
        ([FAILED], 1),
        ([FAILED, PENDING, FAILED], 2),
        ([DELIVERED], None),
        ([FAILED, DELIVERED, FAILED], None),
        (["gone"], None),
        (["gone", FAILED], 1),
    ],
)
def test_deliveries_that_are_given_up_count_unless_one_was_accepted(database, workspace, states, given_up):
    channel_id = add_channel(database, workspace, webhook_url="http://127.0.0.1:9/")
    leased = EVENT._replace(workspace_id=workspace.id, channel_id=channel_id)
    judged = [
        (leased, AttemptOutcome(FAILED if state == "gone" else state, None, 410, None, b"", 0.1, state == "gone"))
        for state in states
    ]

    with database.writing() as tx:
        assert note_health(tx, judged, timedelta(days=5)) == Recorded(judged, [])

    row = read_trouble(database)
    assert (row and row.given_up) == given_up
