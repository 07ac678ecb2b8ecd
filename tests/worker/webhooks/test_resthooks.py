import json

import pytest
from sqlalchemy import select, text

from persistence.deliveries.outbox import Ledger
from persistence.deliveries.receivers import read_subscriber_secret, rotate_subscriber_secret
from persistence.errors import RecordMissing
from persistence.resthooks import create_subscriber, ensure_resthook, record_resthook_event
from persistence.tables.deliveries import resthook_subscriber
from tests.worker.receivers import Reply, receiving
from worker.webhooks.signing import is_signed


@pytest.fixture
def receiver(database, workspace, settings):
    """A receiver that is subscribed to the resthook `registration`."""
    with receiving() as running:
        with database.writing() as tx:
            ensure_resthook(tx, workspace.id, "registration")
            allowed = settings.webhook_allowed_networks
            create_subscriber(tx, workspace.id, "registration", running.url, allowed_networks=allowed)
        yield running


def record(database, workspace):
    with database.writing() as tx:
        return record_resthook_event(tx, workspace.id, "registration", {"contact": {"name": "Amina"}})


def test_a_subscriber_gets_the_event_as_json(database, workspace, receiver, finish):
    (event_id,) = record(database, workspace)

    assert finish() == Ledger(pending=0, delivered=1, failed=0)
    (request,) = receiver.received
    assert json.loads(request.body) == {"contact": {"name": "Amina"}}
    assert request.headers["content-type"] == "application/json"
    assert request.headers["webhook-id"] == event_id


def test_a_subscriber_that_is_gone_is_not_called_again(database, workspace, receiver, finish):
    receiver.respond = lambda request: Reply(410)
    record(database, workspace)

    assert finish() == Ledger(pending=0, delivered=0, failed=1)

    assert record(database, workspace) == []
    with database.reading() as tx:
        assert tx.execute(select(resthook_subscriber.c.id)).all() == []
    assert len(receiver.received) == 1


def test_calls_are_signed_with_a_secret_of_the_subscriber(database, workspace, receiver, finish, clock):
    with database.writing() as tx:
        subscriber_id = tx.execute(select(resthook_subscriber.c.id)).scalar_one()
        old = read_subscriber_secret(tx, workspace.id, subscriber_id)
        new = rotate_subscriber_secret(tx, workspace.id, subscriber_id)
    record(database, workspace)
    finish()

    (request,) = receiver.received
    assert old != new
    assert all(is_signed(request.headers, request.body, secret, clock()) for secret in (old, new))


def test_a_subscriber_whose_secret_is_damaged_gets_nothing_unsigned(database, workspace, receiver, finish):
    with database.writing() as tx:
        tx.execute(text("UPDATE resthook_subscriber SET webhook_secret = '1.damaged'"))
    record(database, workspace)

    assert (finish().failed, receiver.received) == (1, [])


def test_no_other_workspace_reads_or_rotates_it(database, workspace, other_workspace, receiver):
    with database.writing() as tx:
        subscriber_id = tx.execute(select(resthook_subscriber.c.id)).scalar_one()
        for touch in (read_subscriber_secret, rotate_subscriber_secret):
            with pytest.raises(RecordMissing):
                touch(tx, other_workspace.id, subscriber_id)
