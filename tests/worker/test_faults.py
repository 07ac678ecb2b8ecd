import contextlib
import threading
import time

import pytest
from sqlalchemy import create_engine, text

from persistence.database import Database
from persistence.deliveries.outbox import Ledger, count_deliveries, record_channel_event
from testbed.patience import PATIENCE_SECONDS
from tests.channel_rows import add_channel
from tests.worker.receivers import Reply, receiving
from worker.webhooks.dispatcher import begin_webhooks

OTHERS = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()"""
EVENTS = 400
CONNECTIONS = 10
"""As many as the pool of a test's database has."""


@pytest.fixture
def terminate_backends(database_url):
    """Ends all connections to the database but its own."""
    engine = create_engine(database_url, isolation_level="AUTOCOMMIT")

    def terminate():
        with engine.connect() as connection:
            return len(connection.execute(text(OTHERS)).all())

    yield terminate
    engine.dispose()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_ending_all_database_connections_again_and_again_loses_no_event(
    runtime, workspace, database, database_url, terminate_backends
):
    def respond(request):
        threading.Event().wait(0.01)
        return Reply()

    with receiving(respond) as receiver:
        channel_id = add_channel(database, workspace, webhook_url=receiver.url)
        with database.writing() as tx:
            events = [record_channel_event(tx, workspace.id, channel_id, "mo_sms", {"n": n}) for n in range(EVENTS)]
        begin_webhooks(runtime)
        ended = 0
        for count in (50, 150, 250):
            assert receiver.wait_for(count, PATIENCE_SECONDS)
            ended += terminate_backends()
        ledger = wait_until_done(database_url, workspace)

    assert ended > 0
    assert ledger == Ledger(pending=0, delivered=EVENTS, failed=0)
    assert {request.headers["webhook-id"] for request in receiver.received} == set(events)


def test_an_exhausted_pool_loses_no_event(runtime, workspace, database, database_url, caplog):
    with receiving() as receiver:
        channel_id = add_channel(database, workspace, webhook_url=receiver.url)
        with database.writing() as tx:
            event = record_channel_event(tx, workspace.id, channel_id, "mo_sms", {"text": "Hello"})
        with contextlib.ExitStack() as held:
            for _ in range(CONNECTIONS):
                held.enter_context(database.reading())
            begin_webhooks(runtime)
            deadline = time.monotonic() + PATIENCE_SECONDS
            while "connection timed out" not in caplog.text and time.monotonic() < deadline:
                threading.Event().wait(0.05)
            assert "connection timed out" in caplog.text and receiver.received == []
        ledger = wait_until_done(database_url, workspace)

    assert ledger == Ledger(pending=0, delivered=1, failed=0)
    assert [request.headers["webhook-id"] for request in receiver.received] == [event]


def wait_until_done(database_url, workspace):
    database = Database(database_url)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        with database.reading() as tx:
            ledger = count_deliveries(tx, workspace.id)
        if not ledger.pending:
            break
        threading.Event().wait(0.05)
    database.close()
    return ledger
