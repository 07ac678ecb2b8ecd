"""Sessions: at most one of a contact waits, and everything that depends on it ends with it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event, select, text, update
from sqlalchemy.exc import IntegrityError

from persistence.contacts.bulk import block_contacts
from persistence.contacts.bulk import interrupt_contacts as interrupt_by_request
from persistence.contacts.deletion import delete_contacts
from persistence.database import Database
from persistence.runs.runs import COMPLETED, EXPIRED, WAITING
from persistence.sessions.parking import acquire_leases, lock_leased
from persistence.sessions.sessions import (
    SessionState,
    interrupt_contacts,
    interrupt_flow,
    move_contacts_at_end,
    save_sessions,
)
from persistence.sql.columns import new_uuid
from persistence.stamps import stamped
from persistence.tables.contacts import contact
from persistence.tables.flows import flow_run, flow_session
from persistence.tables.service import workspace_clock
from persistence.workspaces.records import Workspace
from tests.channel_rows import add_contact
from tests.run_rows import add_flow, add_people, add_run, add_waiting, status_counts


@pytest.fixture
def registration(database: Database, workspace: Workspace) -> int:
    return add_flow(database, workspace)


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> int:
    return add_contact(database, workspace)


def row_of(database: Database, table: Any, row_id: int) -> Any:
    with database.reading() as tx:
        return tx.execute(select(table).where(table.c.id == row_id)).one()


def current_flow(database: Database, contact_id: int) -> int | None:
    flow_id: int | None = row_of(database, contact, contact_id).current_flow_id
    return flow_id


@pytest.mark.parametrize(("status", "is_kept"), [("waiting", True), ("completed", False), ("interrupted", False)])
def test_only_a_session_that_waits_has_a_state_a_flow_and_times_to_come(status: str, is_kept: bool) -> None:
    soon, later = datetime(2025, 11, 29, 10, tzinfo=UTC), datetime(2025, 11, 30, 10, tzinfo=UTC)
    session = SessionState(
        new_uuid(), 1, "messaging", status, 3, soon, {"runs": [1]}, 5, timeout_on=soon, expires_on=later, ended_on=later
    )
    coming = {"state": {"runs": [1]}, "current_flow_id": 5, "timeout_on": soon, "expires_on": later}

    assert session.values(soon) == {
        "counted_from": None,
        **(coming if is_kept else dict.fromkeys(coming)),
        "status": status,
        "sprint_count": 3,
        "modified_on": soon,
        "ended_on": later,
    }


class TestSaveSessions:
    def test_the_contact_shows_the_flow_it_waits_in(
        self, database: Database, workspace: Workspace, registration: int, amina: int
    ) -> None:
        session_id, _ = add_waiting(database, workspace, registration, amina, state={"runs": [1]})

        assert row_of(database, flow_session, session_id).state == {"runs": [1]}
        assert current_flow(database, amina) == registration

    def test_a_session_that_is_over_keeps_no_state_and_frees_the_contact(
        self, database: Database, workspace: Workspace, registration: int, amina: int
    ) -> None:
        session_id, _ = add_waiting(database, workspace, registration, amina)
        uuid = row_of(database, flow_session, session_id).uuid
        with database.writing() as tx:
            over = SessionState(uuid, amina, "message", COMPLETED, 2, tx.now, state={"runs": []}, ended_on=tx.now)
            assert save_sessions(tx, workspace.id, [over]) == {uuid: session_id}

        row = row_of(database, flow_session, session_id)
        assert (row.status, row.state, row.sprint_count, row.current_flow_id) == ("completed", None, 2, None)
        assert current_flow(database, amina) is None

    def test_what_somebody_ended_stays_as_it_is(
        self, database: Database, workspace: Workspace, registration: int, amina: int
    ) -> None:
        session_id, _ = add_waiting(database, workspace, registration, amina)
        uuid = row_of(database, flow_session, session_id).uuid
        with database.writing() as tx:
            interrupt_contacts(tx, workspace.id, [amina])
        with database.writing() as tx:
            late = SessionState(uuid, amina, "message", WAITING, 2, tx.now, current_flow_id=registration)
            assert save_sessions(tx, workspace.id, [late]) == {}

        assert row_of(database, flow_session, session_id).status == "interrupted"
        assert current_flow(database, amina) is None

    def test_a_session_in_the_background_leaves_the_contact_where_it_waits(
        self, database: Database, workspace: Workspace, registration: int, amina: int
    ) -> None:
        add_waiting(database, workspace, registration, amina)
        with database.writing() as tx:
            save_sessions(tx, workspace.id, [SessionState(new_uuid(), amina, "background", COMPLETED, 1, tx.now)])

        assert current_flow(database, amina) == registration

    def test_contacts_are_told_of_the_flow_they_wait_in_by_one_statement_for_all_of_a_flow(
        self, database: Database, workspace: Workspace, registration: int
    ) -> None:
        other = add_flow(database, workspace, name="Other")
        people = add_people(database, workspace, 5)
        flows = [registration, other, registration, other, registration]
        told: list[int] = []

        def note(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
            if "UPDATE contact" in statement and not (
                statement.startswith(("PREPARE", "DEALLOCATE")) or "workspace_clock" in statement
            ):
                told.append(len(parameters) if many else 1)

        event.listen(database.engine, "before_cursor_execute", note)
        with database.writing() as tx:
            given = {"state": {}, "created_on": tx.now}
            sessions = [
                SessionState(new_uuid(), one, "message", WAITING, 1, current_flow_id=flow, **given)
                for one, flow in zip(people, flows, strict=True)
            ]
            save_sessions(tx, workspace.id, sessions)
        event.remove(database.engine, "before_cursor_execute", note)

        assert told == [1, 1]
        assert [current_flow(database, one) for one in people] == flows

    def test_the_lease_of_a_contact_ends_with_the_row_that_says_where_it_waits(
        self, database: Database, workspace: Workspace, registration: int, amina: int
    ) -> None:
        [ben] = add_people(database, workspace, 1)
        leases = database.write(lambda tx: acquire_leases(tx, [amina, ben]))
        with database.writing() as tx:
            waits = SessionState(
                new_uuid(), amina, "message", WAITING, 1, tx.now, state={}, current_flow_id=registration
            )
            save_sessions(tx, workspace.id, [waits, SessionState(new_uuid(), ben, "background", COMPLETED, 1, tx.now)])
            assert [each.id for each in lock_leased(tx, leases)] == [ben]

        assert row_of(database, contact, amina).handling_until is None
        assert row_of(database, contact, ben).handling_until == leases.until

    def test_contacts_that_are_moved_at_the_end_keep_what_else_changed_and_have_its_time(
        self, database: Database, workspace: Workspace, registration: int, amina: int
    ) -> None:
        [ben, carol] = add_people(database, workspace, 2)
        leases = database.write(lambda tx: acquire_leases(tx, [amina, ben, carol]))
        with database.writing() as tx:
            sessions = [
                SessionState(new_uuid(), one, "message", status, 1, tx.now, state={}, current_flow_id=registration)
                for one, status in ((amina, WAITING), (ben, WAITING), (carol, COMPLETED))
            ]
            save_sessions(tx, workspace.id, sessions, moves_contacts=False)
            assert move_contacts_at_end(tx, workspace.id, sessions) == {amina, ben}
            named = update(contact).where(contact.c.id.in_([amina, carol]))
            tx.execute(named.values(name="Changed", modified_on=stamped(tx, contact, workspace.id)))
            held = tx.execute(select(contact.c.handling_until).where(contact.c.id == amina)).scalar_one()
            assert held == leases.until

        rows = [row_of(database, contact, one) for one in (amina, ben, carol)]
        assert [(row.current_flow_id, row.handling_until, row.name) for row in rows] == [
            (registration, None, "Changed"),
            (registration, None, None),
            (None, leases.until, "Changed"),
        ]
        with database.reading() as tx:
            clock = tx.execute(select(workspace_clock.c.stamped_on)).scalar_one()
        assert {row.modified_on for row in rows} == {clock}

    def test_a_state_may_contain_any_character(
        self, database: Database, workspace: Workspace, registration: int, amina: int
    ) -> None:
        state = {"results": {"said": "'\\\" % \x00 \u2028 \N{SMILING FACE WITH SMILING EYES}"}, "number": 2**63}
        session_id, _ = add_waiting(database, workspace, registration, amina, state=state)

        assert row_of(database, flow_session, session_id).state == state

    def test_a_contact_cannot_wait_twice(
        self, database: Database, workspace: Workspace, registration: int, amina: int
    ) -> None:
        add_waiting(database, workspace, registration, amina)

        with pytest.raises(IntegrityError):
            add_waiting(database, workspace, registration, amina)


class TestInterruptContacts:
    def test_sessions_and_open_runs_end_and_the_flows_count_them(
        self, database: Database, workspace: Workspace, registration: int, amina: int
    ) -> None:
        survey = add_flow(database, workspace, "Survey")
        session_id, child = add_waiting(database, workspace, survey, amina)
        parent = add_run(database, workspace, registration, amina, "active", session_id=session_id)
        past = add_run(database, workspace, registration, amina, "completed", session_id=session_id)
        before = row_of(database, contact, amina).modified_on

        with database.writing() as tx:
            interrupt_contacts(tx, workspace.id, [amina])

        session = row_of(database, flow_session, session_id)
        assert (session.status, session.state, session.timeout_on, session.expires_on) == (
            "interrupted",
            None,
            None,
            None,
        )
        runs = [row_of(database, flow_run, run_id) for run_id in (child, parent, past)]
        assert [run.status for run in runs] == ["interrupted", "interrupted", "completed"]
        assert runs[0].exited_on == runs[1].exited_on == runs[0].modified_on == session.ended_on
        assert status_counts(database, survey) == {"interrupted": 1}
        assert status_counts(database, registration) == {"interrupted": 1, "completed": 1}
        assert current_flow(database, amina) is None
        assert row_of(database, contact, amina).modified_on > before

    def test_whole_sessions_can_expire(
        self, database: Database, workspace: Workspace, registration: int, amina: int
    ) -> None:
        session_id, run_id = add_waiting(database, workspace, registration, amina)

        with database.writing() as tx:
            interrupt_contacts(tx, workspace.id, [amina], status=EXPIRED)

        assert (
            row_of(database, flow_session, session_id).status == row_of(database, flow_run, run_id).status == "expired"
        )
        assert status_counts(database, registration) == {"expired": 1}

    def test_who_waits_nowhere_does_not_change(self, database: Database, workspace: Workspace, amina: int) -> None:
        before = row_of(database, contact, amina)

        with database.writing() as tx:
            interrupt_by_request(tx, workspace.id, [amina])

        assert row_of(database, contact, amina) == before

    def test_runs_made_ahead_stay(
        self, database: Database, workspace: Workspace, registration: int, amina: int
    ) -> None:
        made = add_run(database, workspace, registration, amina, "active")

        with database.writing() as tx:
            interrupt_contacts(tx, workspace.id, [amina])

        assert row_of(database, flow_run, made).status == "active"

    def test_many_contacts_take_as_many_statements_as_one(
        self, database: Database, workspace: Workspace, registration: int, statements: list[str]
    ) -> None:
        counts = []
        for people in (add_people(database, workspace, 1), add_people(database, workspace, 200)):
            for person in people:
                add_waiting(database, workspace, registration, person)
            statements.clear()
            with database.writing() as tx:
                interrupt_contacts(tx, workspace.id, people)
            counts.append(len(statements))

        assert counts[0] == counts[1]
        assert status_counts(database, registration) == {"interrupted": 201}

    def test_contacts_of_another_workspace_are_left_alone(
        self, database: Database, workspace: Workspace, other_workspace: Workspace, registration: int, amina: int
    ) -> None:
        session_id, _ = add_waiting(database, workspace, registration, amina)

        with database.writing() as tx:
            interrupt_by_request(tx, other_workspace.id, [amina])

        assert row_of(database, flow_session, session_id).status == "waiting"


@pytest.mark.parametrize("act", [interrupt_by_request, block_contacts, delete_contacts])
def test_requests_take_the_turn_away_from_workers(
    database: Database, workspace: Workspace, amina: int, act: Any
) -> None:
    with database.writing() as tx:
        until = tx.now + timedelta(seconds=30)
        tx.execute(update(contact).where(contact.c.id == amina).values(handling_until=until))

    with database.writing() as tx:
        act(tx, workspace.id, [amina])

    assert row_of(database, contact, amina).handling_until is None


def test_a_blocked_contact_leaves_its_flow(
    database: Database, workspace: Workspace, registration: int, amina: int
) -> None:
    session_id, _ = add_waiting(database, workspace, registration, amina)

    with database.writing() as tx:
        block_contacts(tx, workspace.id, [amina])

    assert row_of(database, flow_session, session_id).status == "interrupted"
    assert current_flow(database, amina) is None


def test_of_a_deleted_contact_no_session_and_no_run_is_left(
    database: Database, workspace: Workspace, registration: int, amina: int
) -> None:
    other = add_contact(database, workspace, "+254722000222")
    add_waiting(database, workspace, registration, amina)
    add_run(database, workspace, registration, amina, "completed")
    kept = add_run(database, workspace, registration, other, "completed")

    with database.writing() as tx:
        delete_contacts(tx, workspace.id, [amina])

    with database.reading() as tx:
        assert tx.execute(select(flow_session.c.id)).all() == []
        assert tx.execute(select(flow_run.c.id)).scalars().all() == [kept]
    assert status_counts(database, registration) == {"completed": 1}


def test_interrupting_a_flow_ends_every_session_with_an_open_run_in_it(
    database: Database, workspace: Workspace, registration: int
) -> None:
    survey = add_flow(database, workspace, "Survey")
    inside, below, elsewhere, ahead = add_people(database, workspace, 4)
    first, _ = add_waiting(database, workspace, registration, inside)
    second, child = add_waiting(database, workspace, survey, below)
    add_run(database, workspace, registration, below, "active", session_id=second)
    third, _ = add_waiting(database, workspace, survey, elsewhere)
    add_run(database, workspace, registration, elsewhere, "completed", session_id=third)
    made = add_run(database, workspace, registration, ahead, "active")

    with database.writing() as tx:
        interrupt_flow(tx, workspace.id, registration)

    statuses = [row_of(database, flow_session, one).status for one in (first, second, third)]
    assert statuses == ["interrupted", "interrupted", "waiting"]
    assert [row_of(database, flow_run, one).status for one in (child, made)] == ["interrupted", "interrupted"]
    assert status_counts(database, registration) == {"interrupted": 3, "completed": 1}
    assert status_counts(database, survey) == {"interrupted": 1, "active": 1}
    assert [current_flow(database, one) for one in (inside, below, elsewhere)] == [None, None, survey]


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_interrupting_a_flow_does_not_wait_for_messages_that_are_stored_meanwhile(
    database: Database, workspace: Workspace, registration: int, amina: int
) -> None:
    session_id, _ = add_waiting(database, workspace, registration, amina)
    with database.writing() as storing, database.writing() as tx:
        storing.execute(select(contact.c.id).with_for_update(read=True, key_share=True))  # as a foreign key does
        tx.execute(text("SET LOCAL lock_timeout = 50"))
        interrupt_flow(tx, workspace.id, registration)

    assert row_of(database, flow_session, session_id).status == "interrupted"
