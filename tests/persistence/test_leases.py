"""What ends the process that does it, or meets an error, is given up after three attempts, and other work goes on."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

import pytest
from sqlalchemy import Table, select, text
from sqlalchemy.exc import OperationalError

from persistence.archives import writing
from persistence.broadcasts import expansion as broadcasts
from persistence.data_jobs import LEASE, Performer, leave, take_next
from persistence.database import Database
from persistence.deliveries.leases import AttemptOutcome, lease_deliveries, list_due_receivers, record_attempt
from persistence.deliveries.outbox import record_channel_event
from persistence.leases import MOST_ATTEMPTS
from persistence.tables.data_jobs import contact_import, data_request, export
from persistence.tables.deliveries import DELIVERED, delivery
from persistence.tables.messages import broadcast
from persistence.workspaces import Workspace
from tests.channel_rows import add_channel

LATER = timedelta(minutes=5)
PERSON = "0197a6e4-9a01-7c2f-a1d1-2f4c5b6a7081"
JOBS: dict[Table, dict[str, Any]] = {
    contact_import: {"filename": "p.csv", "source": "imports/p.csv", "columns": [], "status": "reading"},
    export: {"type": "contacts", "format": "csv", "filters": {}, "status": "pending"},
    data_request: {"type": "erase", "contact_uuid": PERSON, "contact_id": 1, "counts": {}, "status": "pending"},
}


@pytest.mark.parametrize("table", JOBS, ids=lambda table: table.name)
def test_a_job_with_data_whose_worker_died_three_times_fails_and_the_next_is_done(
    database: Database, workspace: Workspace, clock: Any, table: Table
) -> None:
    with database.writing() as tx:
        ids = [tx.insert(table, workspace_id=workspace.id, created_on=tx.now, **JOBS[table]) for _ in range(2)]
    taken = []
    for _ in range(MOST_ATTEMPTS + 1):
        held = database.write(lambda tx: take_next(tx, workspace.id))
        assert held is not None
        taken.append(held.row.id)
        clock.moment += LEASE * 2

    assert taken == [ids[0]] * MOST_ATTEMPTS + [ids[1]]
    with database.reading() as tx:
        row = tx.execute(select(table).where(table.c.id == ids[0])).one()
    assert row.status == "failed" and row.finished_on is not None
    assert "attempts" in row.error


def test_a_job_that_takes_the_database_too_long_fails_with_that_reason(
    database_url: str, database: Database, workspace: Workspace, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with database.writing() as tx:
        tx.insert(export, workspace_id=workspace.id, created_on=tx.now, **JOBS[export])
    hurried = Database(database_url, statement_timeout_seconds=0.5)

    def count_for_ever(*_: Any) -> None:
        with hurried.reading() as tx:
            tx.execute(text("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"))

    monkeypatch.setattr(Performer, "_perform", count_for_ever)
    for _ in range(MOST_ATTEMPTS):
        held = database.write(lambda tx: take_next(tx, workspace.id))
        assert held is not None
        with pytest.raises(OperationalError):
            Performer(database, cast(Any, None)).perform(held)
        clock.moment += LEASE * 2
    hurried.close()

    with database.reading() as tx:
        row = tx.execute(select(export)).one()
    assert (row.status, row.error) == ("failed", "This takes the database too long; ask for less at a time.")


def test_a_worker_that_stops_leaves_no_attempt(database: Database, workspace: Workspace) -> None:
    with database.writing() as tx:
        tx.insert(export, workspace_id=workspace.id, created_on=tx.now, **JOBS[export])
    for _ in range(MOST_ATTEMPTS + 2):
        held = database.write(lambda tx: take_next(tx, workspace.id))
        assert held is not None
        leave(database, held)


def add_broadcast(tx: Any, workspace: Workspace) -> int:
    shared = {"urns": [], "text": {"eng": "Hi"}, "attachments": {}, "files": {}, "quick_replies": {}}
    times = {"created_on": tx.now, "modified_on": tx.now}
    row = {**shared, **times, "base_language": "eng", "status": "queued"}
    return int(tx.insert(broadcast, workspace_id=workspace.id, **row))


def die(database: Database, workspace: Workspace, begin: Callable[..., Any], clock: Any) -> list[Any]:
    """What a worker begins that is killed each time before it has done it."""
    found = []
    for _ in range(MOST_ATTEMPTS + 1):
        found.append(database.write(lambda tx: begin(tx, workspace.id)))
        clock.moment += LATER
    return found


def test_a_broadcast_that_ends_workers_fails_with_a_reason_and_the_next_one_is_sent(
    database: Database, workspace: Workspace, clock: Any
) -> None:
    with database.writing() as tx:
        first, second = add_broadcast(tx, workspace), add_broadcast(tx, workspace)

    assert die(database, workspace, broadcasts.begin_expansion, clock) == [first] * MOST_ATTEMPTS + [second]
    assert database.write(lambda tx: broadcasts.expand_next(tx, workspace.id, second))
    with database.reading() as tx:
        rows = tx.execute(select(broadcast.c.status, broadcast.c.error, broadcast.c.attempts).order_by(broadcast.c.id))
        (failed, reason, _), done = rows
    assert failed == "failed" and "attempts" in reason
    assert tuple(done) == ("completed", None, 0)


def test_a_delivery_that_ends_workers_fails_and_those_beside_it_do_not(
    database: Database, workspace: Workspace, clock: Any
) -> None:
    channel_id = add_channel(database, workspace, webhook_url="https://example.com/")
    with database.writing() as tx:
        poisoned = record_channel_event(tx, workspace.id, channel_id, "mo_sms", {"n": 0})
        for number in range(4):
            record_channel_event(tx, workspace.id, channel_id, "mo_sms", {"n": number})
    delivered = AttemptOutcome(DELIVERED, None, 200, None, b"", 0.1)
    for _ in range(20):
        clock.moment += LATER
        with database.reading() as tx:
            rooms = dict.fromkeys(list_due_receivers(tx), 10)
        leased = database.write(lambda tx, rooms=rooms: lease_deliveries(tx, rooms, timedelta(minutes=1)))
        if poisoned not in {each.uuid for each in leased}:
            for each in leased:
                database.write(lambda tx, each=each: record_attempt(tx, each, delivered))

    with database.reading() as tx:
        rows = tx.execute(select(delivery.c.uuid, delivery.c.status, delivery.c.last_error)).all()
    assert {status for uuid, status, _ in rows if uuid != poisoned} == {"delivered"}
    ((status, error),) = [(status, error) for uuid, status, error in rows if uuid == poisoned]
    assert status == "failed" and "attempts" in error


def test_an_archive_that_ends_workers_is_left_out(database: Database, workspace: Workspace, clock: Any) -> None:
    for _ in range(MOST_ATTEMPTS):
        database.write(lambda tx: writing.begin_archive(tx, workspace.id, "daily", "message"))
        clock.moment += LATER * 12

    with database.reading() as tx:
        assert writing.list_given_up(tx) == [(workspace.name, "daily message")]
    database.write(lambda tx: writing.end_archive(tx, workspace.id, "daily", "message"))
    with database.reading() as tx:
        assert writing.list_given_up(tx) == []
