from datetime import timedelta

import pytest
from sqlalchemy import select, update

from persistence.messages.actions import fail_old_messages
from persistence.tables.channels import channel
from persistence.tables.messages import message
from tests.channel_rows import add_channel, add_contact, add_outgoing


@pytest.fixture
def add(database, workspace, clock):
    channel_id, contact_id = add_channel(database, workspace), add_contact(database, workspace)

    def add_message(status="queued", **values):
        return add_outgoing(database, workspace, channel_id, contact_id, clock(), status, **values)

    return add_message


def expire(database, limit=1000):
    with database.writing() as tx:
        return fail_old_messages(tx, limit)


def state(database, message_id):
    with database.reading() as tx:
        found = select(message.c.status, message.c.failed_reason).where(message.c.id == message_id)
        return tuple(tx.execute(found).one())


@pytest.mark.parametrize("status", ["queued", "errored"])
def test_a_message_that_waited_for_a_week_fails_with_a_reason(database, add, clock, status):
    message_id = add(status)
    clock.advance(days=7)

    assert (expire(database), expire(database)) == (1, 0)
    assert state(database, message_id) == ("failed", "too_old")


def test_a_younger_message_goes_on_waiting(database, add, clock):
    message_id = add()
    clock.advance(days=6, hours=23)

    assert expire(database) == 0
    assert state(database, message_id) == ("queued", None)


def test_what_a_phone_has_fails_once_the_phone_is_silent_for_a_week(database, add, clock):
    message_id = add("wired")
    clock.advance(days=8)
    with database.writing() as tx:
        tx.execute(update(channel).values(last_seen=clock() - timedelta(days=6, hours=23)))
    assert expire(database) == 0
    clock.advance(hours=2)

    assert (expire(database), expire(database)) == (1, 0)
    assert state(database, message_id) == ("failed", "phone_silent")


def test_what_a_gateway_has_never_fails_by_its_age(database, add, clock):
    with database.writing() as tx:
        tx.execute(update(channel).values(type="external"))
    message_id = add("wired")
    clock.advance(days=8)

    assert expire(database) == 0
    assert state(database, message_id) == ("wired", None)


@pytest.mark.parametrize("status", ["sent", "delivered", "read", "failed"])
def test_a_message_that_does_not_wait_stays_as_it_is(database, add, clock, status):
    message_id = add(status)
    clock.advance(days=8)

    assert expire(database) == 0
    assert state(database, message_id) == (status, None)


def test_incoming_messages_do_not_expire(database, add, clock):
    add("queued", direction="in")
    clock.advance(days=8)

    assert expire(database) == 0


def test_many_are_failed_in_steps(database, add, clock):
    for _ in range(3):
        add()
    clock.advance(days=8)

    assert [expire(database, 2), expire(database, 2)] == [2, 1]
