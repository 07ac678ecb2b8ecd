"""What was set for one receiver: its retries, its rate limit and its keys."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from persistence.deliveries.leases import lease_within_paces, list_due_receivers
from persistence.deliveries.outbox import record_channel_event
from persistence.deliveries.receivers import rotate_secret, write_receiver
from persistence.deliveries.settings import Endpoint
from persistence.resthooks import create_subscriber, ensure_resthook, record_resthook_event
from persistence.tables.channels import channel
from persistence.tables.deliveries import delivery, delivery_attempt, webhook_receiver
from tests.channel_rows import add_channel
from tests.worker.receivers import Reply
from worker.webhooks.signing import is_signed

LEASE = timedelta(seconds=30)


@pytest.fixture
def phone(database, workspace, receiver):
    """The id and the UUID of a channel."""
    number = add_channel(database, workspace, webhook_url=receiver.url)
    with database.reading() as tx:
        return number, tx.execute(select(channel.c.uuid).where(channel.c.id == number)).scalar_one()


@pytest.fixture
def change(database, workspace, phone):
    def change_settings(**changes):
        with database.writing() as tx:
            return write_receiver(tx, workspace, phone[1], changes)

    return change_settings


@pytest.fixture
def add(database, workspace, phone):
    def add_events(count=1):
        with database.writing() as tx:
            for _ in range(count):
                record_channel_event(tx, workspace.id, phone[0], "mo_sms", {"text": "Hello"})

    return add_events


def lease(database, room=8):
    with database.writing() as tx:
        return lease_within_paces(tx, dict.fromkeys(list_due_receivers(tx), room), LEASE)


def test_it_is_tried_as_often_as_its_own_delays_say(database, change, add, receiver, finish):
    receiver.respond = lambda request: Reply(500)
    change(retry_delays_seconds=[1] * 5)
    with database.writing() as tx:
        tx.execute(update(webhook_receiver).values(retry_delays=[0.0] * 5))
    add()

    assert finish().failed == 1
    assert len(receiver.received) == 6


def test_without_delays_it_is_tried_once(change, add, receiver, finish):
    receiver.respond = lambda request: Reply(500)
    change(retry_delays_seconds=[])
    add()

    assert (finish().failed, len(receiver.received)) == (1, 1)


def test_its_rate_limit_holds_over_all_workers(database, change, add, clock):
    change(requests_per_second=2)
    add(5)

    leased, again_on = lease(database)
    others, _ = lease(database)

    assert (len(leased), others) == (1, [])
    assert clock() < again_on <= clock() + timedelta(seconds=0.5)
    taken = 1
    for _ in range(4):
        clock.advance(milliseconds=500)
        taken += len(lease(database)[0])
    assert taken == 5


def test_a_limit_concerns_only_its_own_receiver(database, workspace, change, add, receiver, phone):
    other = add_channel(database, workspace, webhook_url=receiver.url)
    change(requests_per_second=1)
    add(3)
    with database.writing() as tx:
        for _ in range(3):
            record_channel_event(tx, workspace.id, other, "mo_sms", {"text": "Hello"})

    leased, _ = lease(database)

    assert sorted(each.channel_id for each in leased) == sorted([phone[0], other, other, other])


def test_a_limit_reaches_what_waits_already_and_ends_for_it(database, change, add):
    add(4)
    change(requests_per_second=1)
    assert len(lease(database)[0]) == 1
    change(requests_per_second=None)

    assert len(lease(database)[0]) == 3


def test_everything_arrives_in_spite_of_a_limit(change, add, receiver, finish):
    change(requests_per_second=1000)
    add(6)

    assert finish().delivered == 6


def test_events_are_signed_with_the_chosen_keys(database, workspace, change, add, receiver, finish, phone, clock):
    change(signature="ed25519")
    clock.advance(hours=25)
    with database.writing() as tx:
        public = rotate_secret(tx, workspace.id, phone[1])["public_key"]
    add()
    finish()

    (request,) = receiver.received
    assert is_signed(request.headers, request.body, public, clock())
    with database.reading() as tx:
        assert tx.execute(select(delivery_attempt.c.signed)).scalar_one() == "v1a v1a"


def test_flows_leave_a_subscriber_with_a_limit_to_the_worker(database, workspace):
    with database.writing() as tx:
        ensure_resthook(tx, workspace.id, "new-birth")
        number = create_subscriber(tx, workspace.id, "new-birth", "https://a.example.org/in")
        write_receiver(tx, workspace, str(number), {"requests_per_second": 2})
        assert len(record_resthook_event(tx, workspace.id, "new-birth", {"flow": None})) == 1
        assert tx.execute(select(delivery.c.receiver)).scalar_one() == f"https://a.example.org subscriber {number}"
        assert Endpoint(workspace.id, subscriber_id=number).kind == "subscriber"
