"""What started contacts cost the database: statements are for all of a batch, and rows are written few times."""

from collections.abc import Iterator
from operator import sub
from typing import Any

import pytest
from sqlalchemy import event, text

from persistence.database import Database
from persistence.runs.runs import WAITING
from persistence.sessions.sessions import SessionState, interrupt_contacts, save_sessions
from persistence.sql.columns import new_uuid
from persistence.tables.flows import flow_run
from persistence.workspaces.records import Workspace
from testbed.flow_rows import store_flow
from tests.run_rows import add_people
from tests.unknown_tables import OF_TABLE, unknown_table
from tests.worker.flows.conftest import Stage
from tests.worker.flows.test_conversation import SURVEY

FEW, MANY = 2, 40
ROUNDS = 3
"""A connection of an earlier test on the same database may count late what it wrote, in one of them."""
USES = 6
"""PostgreSQL has prepared by then what it prepares."""
WRITTEN = text(f"SELECT {OF_TABLE}, sum(n_tup_ins), sum(n_tup_upd) FROM pg_stat_user_tables GROUP BY 1")
READ = text(
    "SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0) FROM pg_stat_xact_user_tables"
    f" WHERE {OF_TABLE} = 'flow_session'"
)


def start(stage: Stage, flow_uuid: str, count: int) -> list[str]:
    """Starts so many new contacts; returns the statements of the worker."""
    people = add_people(stage.database, stage.workspace, count)
    stage.start(flow_uuid, *people)
    told: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        if not statement.startswith(("PREPARE", "DEALLOCATE")):
            told.append(statement)

    event.listen(stage.database.engine, "before_cursor_execute", note)
    stage.work()
    event.remove(stage.database.engine, "before_cursor_execute", note)
    assert len(stage.rows(flow_run, flow_run.c.contact_id.in_(people))) == count
    return told


def written(database: Database) -> dict[str, tuple[int, int]]:
    """Rows that were inserted and changed so far, by table, on PostgreSQL."""
    with database.writing() as tx:
        tx.execute(text("SELECT pg_stat_force_next_flush()"))
    with database.reading() as tx:
        return {name: (inserted, changed) for name, inserted, changed in tx.execute(WRITTEN)}


def test_a_batch_takes_as_many_statements_for_many_contacts_as_for_few(stage: Stage) -> None:
    flow_uuid = store_flow(stage.database, stage.workspace, SURVEY)
    start(stage, flow_uuid, FEW)

    few, many = start(stage, flow_uuid, FEW), start(stage, flow_uuid, MANY)

    assert len(many) == len(few)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_the_rows_of_a_started_contact_and_the_contact_are_written_once(stage: Stage) -> None:
    flow_uuid = store_flow(stage.database, stage.workspace, SURVEY)
    start(stage, flow_uuid, FEW)
    wanted = {
        "contact": (MANY, MANY),
        "flow_session": (MANY, 0),
        "flow_run": (MANY, 0),
        "message": (2 * MANY, 0),
    }

    rounds = []
    for _ in range(ROUNDS):
        before = written(stage.database)
        start(stage, flow_uuid, MANY)
        after = written(stage.database)
        rounds.append({name: tuple(map(sub, after[name], before[name])) for name in wanted})

    assert wanted in rounds


@pytest.fixture
def unknown_sessions(database: Database) -> Iterator[None]:
    with unknown_table(database, "flow_session"):
        yield


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_sessions_of_others_are_not_read_even_before_there_are_statistics(
    database: Database, workspace: Workspace, stage: Stage, unknown_sessions: None
) -> None:
    for _ in range(USES):  # while the table is small
        database.write(lambda tx: interrupt_contacts(tx, workspace.id, [0]))
    others = add_people(database, workspace, 600)
    [amina] = add_people(database, workspace, 1)
    with database.writing() as tx:
        given = {"state": {}, "created_on": tx.now}
        sessions = [SessionState(new_uuid(), one, "message", WAITING, 1, **given) for one in [*others, amina]]
        save_sessions(tx, workspace.id, sessions)

    for each in [*others[:USES], amina]:
        with database.writing() as tx:
            before = tx.execute(READ).scalar_one()
            interrupt_contacts(tx, workspace.id, [each])
            assert 0 < tx.execute(READ).scalar_one() - before <= 5
