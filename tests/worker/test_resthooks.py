import json

import pytest
from sqlalchemy import select

from persistence.delivery_records import Ledger
from persistence.resthook_events import record_resthook_event
from persistence.resthook_subscribers import create_subscriber, resthook_subscriber
from persistence.resthooks import ensure_resthook
from tests.worker.receivers import Reply, receiving


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
