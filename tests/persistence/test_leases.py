"""Leases of all tables: one worker has a row at a time, and proves it by the time until which it has it. What ends the
process that does it, or meets an error, is given up after three attempts, and other work goes on.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, cast

import pytest
from sqlalchemy import Table, select, text, update
from sqlalchemy.exc import OperationalError

from persistence import data_jobs
from persistence.archives import writing
from persistence.broadcasts import expansion as broadcasts
from persistence.campaigns import fires, firing
from persistence.channels import gateway_leases as gateways
from persistence.channels.connections import CONNECTIONS
from persistence.data_jobs import LEASE, Performer, give_back, take_next
from persistence.database import Database, Transaction
from persistence.deliveries import leases as deliveries
from persistence.deliveries.leases import AttemptOutcome, lease_deliveries, list_due_receivers, record_attempt
from persistence.deliveries.outbox import record_channel_event
from persistence.flow_starts import batches
from persistence.groups import smart_groups
from persistence.leases import MOST_ATTEMPTS, Leases
from persistence.media import incoming
from persistence.sessions import parking as contacts
from persistence.tables.complete import metadata
from persistence.tables.data_jobs import contact_import, contact_job, data_request, export
from persistence.tables.deliveries import DELIVERED, delivery
from persistence.tables.messages import broadcast
from persistence.triggers import schedules
from persistence.triggers.records import SCHEDULE
from persistence.workspaces.records import Workspace
from tests.channel_rows import add_channel
from tests.contract.filled_workspace import fill_workspace

LATER = timedelta(minutes=5)
PAST = datetime(2026, 1, 1, tzinfo=UTC)
NEXT: dict[Leases, dict[str, Any]] = {
    broadcasts.LEASES: {"status": "queued"},
    batches.EXPANSIONS: {"status": "pending", "is_expanded": False},
    batches.LEASES: {"status": "pending"},
    schedules.LEASES: {"type": SCHEDULE, "next_fire_on": PAST, "is_archived": False},
    fires.PASSES: {"scheduling_since": PAST},
    smart_groups.LEASES: {"status": "initializing", "query": "name = a"},
    **{each: {"status": "pending"} for each in data_jobs.LEASES.values()},
}
"""Those of which the next row that is due is taken, with what makes one due; of the others, rows by id."""
ALL = (*NEXT, firing.LEASES, contacts.LEASES, deliveries.LEASES, gateways.LEASES, CONNECTIONS, incoming.LEASES)
PERSON = "0197a6e4-9a01-7c2f-a1d1-2f4c5b6a7081"
JOBS: dict[Table, dict[str, Any]] = {
    contact_import: {"filename": "p.csv", "source": "imports/p.csv", "columns": [], "status": "reading"},
    export: {"type": "contacts", "format": "csv", "filters": {}, "status": "pending"},
    contact_job: {"action": "block", "filters": {"query": "name = a"}, "status": "pending"},
    data_request: {"type": "erase", "contact_uuid": PERSON, "contact_id": 1, "counts": {}, "status": "pending"},
}


class Hold:
    """What a worker does with the only row of a table."""

    def __init__(self, database: Database, leases: Leases, row: Any) -> None:
        self.database, self.leases, self.row = database, leases, row

    def __repr__(self) -> str:
        return f"{self.leases.table.name}.{self.leases.until}"

    def take(self, tx: Transaction) -> bool:
        if self.leases in NEXT:
            return self.leases.take_next(tx, self.row.workspace_id) == self.row.id
        return self.row.id in self.leases.take_free(tx, [self.row.id], tx.now + LEASE)

    def taken(self) -> datetime | None:
        """Until when it is taken now."""
        return self.stored(self.leases.until) if self.database.write(self.take) else None

    def keep(self, held_until: datetime, until: datetime | None, **how: Any) -> bool:
        keep = partial(self.leases.keep, ids=[self.row.id], held_until=held_until, until=until, **how)
        return self.database.write(keep) == [self.row.id]

    def stored(self, name: str) -> Any:
        rows = self.leases.table.c
        with self.database.reading() as tx:
            return tx.execute(select(rows[name]).where(rows.id == self.row.id)).scalar_one()


Free = Callable[[Iterable[Leases]], Iterator[Hold]]


@pytest.fixture
def free(database: Database, workspace: Workspace) -> Free:
    """Of each of these leases the row, which nobody has and which is due."""
    filled = fill_workspace(database, workspace, 1)

    def make(chosen: Iterable[Leases]) -> Iterator[Hold]:
        for given in chosen:
            (row,) = filled.rows[given.table.name]
            values = {**NEXT.get(given, {}), given.until: PAST if given.until == "due_on" else None}
            values |= {given.count: getattr(row, given.count)} if given.count else {}
            with database.writing() as tx:
                tx.execute(update(given.table).where(given.table.c.id == row.id).values(values))
            yield Hold(database, given, row)

    return make


def test_each_table_with_leases_is_tried_here() -> None:
    leased = {table.name for table in metadata.sorted_tables if {"leased_until", "handling_until"} & {*table.c.keys()}}

    assert leased <= {each.table.name for each in ALL}


def test_a_row_is_taken_by_one_of_two(database: Database, free: Free) -> None:
    for leases in free(ALL):
        with database.writing() as tx:
            assert leases.take(tx)
            if not database.sqlite:  # where those who write exclude each other
                assert not database.write(leases.take), f"{leases} is locked"

        assert not database.write(leases.take), leases


def test_a_lease_is_kept_and_freed_by_who_holds_it_alone(other_workspace: Workspace, free: Free) -> None:
    for leases in free(ALL):
        held = leases.taken()
        assert held is not None, leases
        later = held + LATER
        for wrong in (held - LATER, held + LATER):
            assert not leases.keep(wrong, later)
        assert not leases.keep(held, later, owners=[other_workspace.id])
        assert leases.stored(leases.leases.until) == held

        assert leases.keep(held, later, owners=[leases.row.workspace_id])
        assert not leases.keep(held, later)
        if leases.leases.until != "due_on":
            assert leases.keep(later, None)
            assert leases.taken() is not None


def test_a_lease_that_is_over_is_lost_to_who_takes_the_row_again(free: Free, clock: Any) -> None:
    for leases in free(ALL):
        former = leases.taken()
        assert former is not None, leases
        clock.moment = former
        present = leases.taken()

        assert present is not None, leases
        assert not leases.keep(former, present + LATER)
        assert leases.keep(present, present + LATER)


def test_attempts_are_counted_but_for_those_that_tried_nothing(free: Free, clock: Any) -> None:
    for leases in free(each for each in ALL if each.count and each.until != "due_on"):
        counts, name = [], leases.leases.count or ""
        for was_tried in (True, True, False, True):
            held = leases.taken()
            assert held is not None, leases
            counts.append(leases.stored(name))
            clock.moment = held
            if not was_tried:
                assert leases.keep(held, None, was_tried=False)

        assert (leases, counts) == (leases, [1, 2, 3, 3])


def test_what_was_begun_three_times_is_given_up(database: Database, free: Free, clock: Any) -> None:
    for leases in free(NEXT):
        given_up: list[int] = []
        begin = partial(
            leases.leases.take_next,
            workspace_id=leases.row.workspace_id,
            give_up=lambda _, row_id, ended=given_up: ended.append(row_id),
        )

        for _ in range(MOST_ATTEMPTS):
            assert (database.write(begin), given_up) == (leases.row.id, []), leases
            clock.moment += LATER
        assert (database.write(begin), given_up) == (None, [leases.row.id]), leases


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
    hurried = Database(database_url, statement_timeout_seconds=0.1)
    counting = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    endless = counting if database.sqlite else "SELECT pg_sleep(600)"

    def count_for_ever(*_: Any) -> None:
        with hurried.reading() as tx:
            tx.execute(text(endless))

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
        give_back(database, held, was_tried=False)


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
