"""Running flow starts: contacts are found page by page, each once, and started in batches; the last batch ends the
start."""

import threading
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import select, update

from persistence.database import Database
from persistence.errors import RecordMissing
from persistence.flow_starts import batches
from persistence.flow_starts.batches import (
    LEASE,
    StartBatch,
    expand_start,
    find_made_runs,
    find_started,
    finish_batch,
    interrupt_start,
    lease_batch,
    lease_start,
    list_expanding_workspaces,
    list_starting_workspaces,
    postpone_batch,
)
from persistence.groups.groups import add_members
from persistence.tables.contacts import contact, group
from persistence.tables.flows import flow, flow_run, flow_start, flow_start_batch
from persistence.workspaces.records import Workspace
from tests.factories import make_named
from tests.run_rows import add_flow, add_people, add_run, add_start, add_waiting, status_counts, uuid_of


@pytest.fixture
def registration(database: Database, workspace: Workspace) -> int:
    return add_flow(database, workspace)


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of four contacts, batches of two."""
    monkeypatch.setattr(batches, "PAGE", 4)
    monkeypatch.setattr(batches, "BATCH", 2)


def expand_next(database: Database) -> list[int] | None:
    """The contacts of the next page of a start; None when there is none."""
    with database.writing() as tx:
        due = list_expanding_workspaces(tx)
        start = lease_start(tx, due[0]) if due else None
        return None if start is None else expand_start(tx, start)


def expand_all(database: Database) -> list[int]:
    taken: list[int] = []
    while (page := expand_next(database)) is not None:
        taken += page
    return taken


def lease(database: Database) -> StartBatch | None:
    with database.writing() as tx:
        due = list_starting_workspaces(tx)
        return lease_batch(tx, due[0]) if due else None


def finish(database: Database, batch: StartBatch) -> bool:
    with database.writing() as tx:
        return finish_batch(tx, batch)


def start_of(database: Database, start_id: int) -> Any:
    with database.reading() as tx:
        return tx.execute(select(flow_start).where(flow_start.c.id == start_id)).one()


def make_group(database: Database, workspace: Workspace, name: str, members: Sequence[int]) -> int:
    make_named(database, workspace, group, [name])
    with database.writing() as tx:
        group_id: int = tx.execute(select(group.c.id).where(group.c.name == name)).scalar_one()
        add_members(tx, workspace.id, group_id, members)
        return group_id


class TestExpansion:
    def test_everybody_is_taken_once_in_pages(
        self, database: Database, workspace: Workspace, registration: int, small_pages: None
    ) -> None:
        people = add_people(database, workspace, 9)
        groups = [
            make_group(database, workspace, "One", people[2:6]),
            make_group(database, workspace, "Two", people[4:8]),
        ]
        named = {"address_ids": people[7:], "group_ids": groups}
        start_id = add_start(database, workspace, registration, people[:3], **named)

        pages = [expand_next(database) for _ in range(4)]

        assert pages == [people[:4], people[4:8], people[8:], None]
        start = start_of(database, start_id)
        assert (start.status, start.total, start.contact_count, start.batch_count) == ("started", 9, 9, 5)
        with database.reading() as tx:
            batches = tx.execute(select(flow_start_batch.c.contact_ids).order_by(flow_start_batch.c.number)).scalars()
            assert [one for batch in batches for one in batch] == people

    def test_the_total_is_unknown_until_all_were_found(
        self, database: Database, workspace: Workspace, registration: int, small_pages: None
    ) -> None:
        start_id = add_start(database, workspace, registration, add_people(database, workspace, 5))

        expand_next(database)
        assert start_of(database, start_id).total == -1
        expand_next(database)
        assert start_of(database, start_id).total == 5

    def test_a_query_finds_contacts(self, database: Database, workspace: Workspace, registration: int) -> None:
        (amina,) = add_people(database, workspace, 1, name="Amina")
        add_people(database, workspace, 1, name="Bosco")
        add_start(database, workspace, registration, query='name = "amina"')

        assert expand_all(database) == [amina]

    def test_a_query_knows_flows_and_history(self, database: Database, workspace: Workspace, registration: int) -> None:
        past, waiting, _ = add_people(database, workspace, 3)
        add_run(database, workspace, registration, past)
        add_waiting(database, workspace, registration, waiting)

        add_start(database, workspace, registration, query="history = Registration")
        assert expand_all(database) == [past, waiting]
        add_start(database, workspace, registration, query="flow = Registration")
        assert expand_all(database) == [waiting]

    def test_a_broken_query_fails_the_start(self, database: Database, workspace: Workspace, registration: int) -> None:
        start_id = add_start(database, workspace, registration, query="no_such_field = 1")

        assert expand_all(database) == []
        assert start_of(database, start_id).status == "failed"

    @pytest.mark.parametrize(
        "change", [{"status": "blocked"}, {"status": "stopped"}, {"status": "archived"}, {"is_deleted": True}]
    )
    def test_who_is_not_active_is_left_out(
        self, database: Database, workspace: Workspace, registration: int, change: dict[str, Any]
    ) -> None:
        people = add_people(database, workspace, 2)
        with database.writing() as tx:
            tx.execute(update(contact).where(contact.c.id == people[0]).values(**change))
        add_start(database, workspace, registration, people)

        assert expand_all(database) == people[1:]

    @pytest.mark.parametrize("restarts", [True, False])
    @pytest.mark.parametrize("excludes", [True, False])
    def test_participants_and_busy_contacts_are_left_out_on_request(
        self, database: Database, workspace: Workspace, registration: int, restarts: bool, excludes: bool
    ) -> None:
        survey = add_flow(database, workspace, "Survey")
        fresh, participant, busy = people = add_people(database, workspace, 3)
        add_run(database, workspace, registration, participant)
        add_waiting(database, workspace, survey, busy)
        add_start(database, workspace, registration, people, restart_participants=restarts, exclude_active=excludes)

        expected = [fresh, *([participant] if restarts else []), *([] if excludes else [busy])]
        assert expand_all(database) == expected

    def test_a_start_of_nobody_is_completed(self, database: Database, workspace: Workspace, registration: int) -> None:
        start_id = add_start(database, workspace, registration)

        assert expand_all(database) == []
        start = start_of(database, start_id)
        assert (start.status, start.total, start.started) == ("completed", 0, 0)

    def test_an_archived_flow_fails_the_start_and_drops_its_batches(
        self, database: Database, workspace: Workspace, registration: int, small_pages: None
    ) -> None:
        start_id = add_start(database, workspace, registration, add_people(database, workspace, 5))
        expand_next(database)
        with database.writing() as tx:
            tx.execute(update(flow).where(flow.c.id == registration).values(is_archived=True))

        assert expand_all(database) == []
        assert (start_of(database, start_id).status, lease(database)) == ("failed", None)

    def test_starts_take_turns(
        self, database: Database, workspace: Workspace, registration: int, small_pages: None
    ) -> None:
        large, small = add_people(database, workspace, 8), add_people(database, workspace, 1)
        add_start(database, workspace, registration, large)
        add_start(database, workspace, registration, small)

        pages = [expand_next(database) for _ in range(2)]
        batches = [lease(database) for _ in range(2)]

        assert pages == [large[:4], small]
        assert [batch.contact_ids for batch in batches if batch] == [large[:2], small]

    def test_the_contacts_of_a_large_start_are_found_in_few_statements(
        self, database: Database, workspace: Workspace, registration: int, statements: list[str]
    ) -> None:
        people = add_people(database, workspace, 1500)
        add_start(database, workspace, registration, group_ids=[make_group(database, workspace, "All", people)])
        statements.clear()

        assert expand_all(database) == people
        assert len(statements) < 40


class TestBatches:
    @pytest.fixture
    def people(self, database: Database, workspace: Workspace) -> list[int]:
        return add_people(database, workspace, 3)

    @pytest.fixture
    def start_id(
        self, database: Database, workspace: Workspace, registration: int, people: list[int], small_pages: None
    ) -> int:
        """A start of three contacts in two batches."""
        start_id = add_start(database, workspace, registration, people, params={"a": 1})
        expand_all(database)
        return start_id

    def test_a_batch_is_finished_by_who_has_it(
        self, database: Database, start_id: int, people: list[int], clock: Any
    ) -> None:
        first, second = lease(database), lease(database)
        assert first is not None
        assert second is not None
        assert (first.contact_ids, second.contact_ids) == (people[:2], people[2:3])
        assert (first.params, first.start_type, first.is_alone, first.attempts) == ({"a": 1}, "api", False, 1)
        clock.advance(seconds=LEASE.total_seconds() + 1)
        again = lease(database)

        assert again is not None
        assert (again.id, finish(database, first)) == (first.id, False)
        assert finish(database, again) is True

    def test_a_postponed_batch_comes_again_soon(self, database: Database, start_id: int, clock: Any) -> None:
        batch, _ = lease(database), lease(database)
        assert batch is not None
        with database.writing() as tx:
            postpone_batch(tx, batch)
        clock.advance(seconds=2)

        again = lease(database)

        assert again is not None
        assert (again.id, again.attempts) == (batch.id, 1)

    def test_the_last_batch_completes_the_start(self, database: Database, start_id: int, people: list[int]) -> None:
        first, second = lease(database), lease(database)
        assert first is not None
        assert second is not None

        finish(database, first)
        halfway = start_of(database, start_id)
        finish(database, second)
        end = start_of(database, start_id)

        assert (halfway.status, halfway.started) == ("started", 2)
        assert (end.status, end.started, end.total) == ("completed", 3, 3)
        with database.reading() as tx:
            assert tx.execute(select(flow_start_batch.c.id)).all() == []

    def test_two_workers_that_finish_together_complete_the_start(self, database: Database, start_id: int) -> None:
        batches = [lease(database), lease(database)]
        threads = [threading.Thread(target=finish, args=(database, batch)) for batch in batches]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert start_of(database, start_id).status == "completed"

    def test_an_interrupted_start_drops_what_is_pending(
        self, database: Database, workspace: Workspace, start_id: int
    ) -> None:
        batch = lease(database)
        assert batch is not None
        finish(database, batch)
        second = lease(database)
        assert second is not None

        with database.writing() as tx:
            interrupt_start(tx, workspace.id, uuid_of(database, flow_start, start_id))

        start = start_of(database, start_id)
        assert (start.status, start.started, lease(database)) == ("interrupted", 2, None)
        assert finish(database, second) is False
        assert start_of(database, start_id).status == "interrupted"

    def test_only_starts_of_the_workspace_are_interrupted(
        self, database: Database, other_workspace: Workspace, start_id: int
    ) -> None:
        uuid = uuid_of(database, flow_start, start_id)
        with pytest.raises(RecordMissing), database.writing() as tx:
            interrupt_start(tx, other_workspace.id, uuid)


class TestRunsMadeAhead:
    @pytest.fixture
    def people(self, database: Database, workspace: Workspace) -> list[int]:
        return add_people(database, workspace, 3)

    @pytest.fixture
    def batch(self, database: Database, workspace: Workspace, registration: int, people: list[int]) -> StartBatch:
        add_start(database, workspace, registration, people, makes_runs=True)
        expand_all(database)
        batch = lease(database)
        assert batch is not None
        return batch

    def test_each_contact_has_its_run_from_the_beginning(
        self, database: Database, registration: int, people: list[int], batch: StartBatch
    ) -> None:
        with database.reading() as tx:
            made, started = find_made_runs(tx, batch), find_started(tx, batch)

        assert (sorted(made), started) == (people, set())
        assert status_counts(database, registration) == {"active": 3}

    def test_a_run_that_was_gone_through_is_not_made_again(
        self, database: Database, workspace: Workspace, registration: int, people: list[int], batch: StartBatch
    ) -> None:
        session_id, _ = add_waiting(database, workspace, registration, people[0])
        mine = flow_run.c.start_id.is_not(None) & (flow_run.c.contact_id == people[0])
        with database.writing() as tx:
            tx.execute(update(flow_run).where(mine).values(session_id=session_id, status="waiting"))

        with database.reading() as tx:
            assert find_started(tx, batch) == {people[0]}
            assert sorted(find_made_runs(tx, batch)) == people[1:]

    def test_runs_that_nobody_could_begin_are_interrupted_with_the_batch(
        self, database: Database, registration: int, batch: StartBatch
    ) -> None:
        finish(database, batch)

        assert status_counts(database, registration) == {"interrupted": 3}
        with database.reading() as tx:
            assert tx.execute(select(flow_run.c.status).distinct()).scalars().all() == ["interrupted"]


def test_runs_of_a_start_do_not_count_as_participation_in_it(
    database: Database, workspace: Workspace, registration: int, small_pages: None
) -> None:
    people = add_people(database, workspace, 6)
    add_start(database, workspace, registration, people, makes_runs=True, restart_participants=False)

    assert expand_all(database) == people


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_start_whose_runs_are_made_meanwhile_finds_its_next_contacts(
    database: Database, workspace: Workspace, registration: int
) -> None:
    start_id = add_start(database, workspace, registration, add_people(database, workspace, 1))
    with database.writing() as tx:
        assert lease_start(tx, workspace.id) is not None
    with database.writing() as making, database.writing() as tx:
        making.execute(select(flow_start.c.id).with_for_update(read=True, key_share=True))  # as a foreign key does
        row = lease_start(tx, workspace.id)

    assert row is not None and row.id == start_id
