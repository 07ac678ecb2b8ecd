"""Flows, sessions, runs and starts that tests begin with."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import insert, select, update

from persistence.contacts.audience import Audience
from persistence.database import Database
from persistence.flow_starts.flow_starts import NewStart, create_start
from persistence.runs.runs import ACTIVE, COMPLETED, WAITING, RunState, save_runs
from persistence.sessions.sessions import SessionState, save_sessions
from persistence.sql.columns import new_uuid
from persistence.sql.names import name_key
from persistence.tables.contacts import contact
from persistence.tables.flows import API, flow, flow_run
from persistence.workspaces.records import Workspace

NODE = "4d5f4a0e-2f0b-4a4e-b1f3-2a1b6e9d8c77"


def add_flow(database: Database, workspace: Workspace, name: str = "Registration", **values: Any) -> int:
    """A message flow without a definition; returns its id."""
    with database.writing() as tx:
        row = {
            "workspace_id": workspace.id,
            "name": name,
            "name_key": name_key(name),
            "type": "message",
            "results": [],
            "parent_refs": [],
            "dependencies": {},
            "issues": [],
            "created_on": tx.now,
            "modified_on": tx.now,
        }
        return tx.execute(insert(flow).values(row | values).returning(flow.c.id)).scalar_one()


def uuid_of(database: Database, table: Any, record_id: int) -> str:
    """The uuid of a row of any table."""
    with database.reading() as tx:
        uuid: str = tx.execute(select(table.c.uuid).where(table.c.id == record_id)).scalar_one()
        return uuid


def add_people(database: Database, workspace: Workspace, count: int, **values: Any) -> list[int]:
    """Contacts without address; returns their ids."""
    with database.writing() as tx:
        row = {"workspace_id": workspace.id, "fields": {}, "created_on": tx.now, "modified_on": tx.now} | values
        uuids = [new_uuid() for _ in range(count)]
        tx.execute(insert(contact), [row | {"uuid": uuid} for uuid in uuids])
        return list(tx.execute(select(contact.c.id).where(contact.c.uuid.in_(uuids)).order_by(contact.c.id)).scalars())


def add_run(
    database: Database, workspace: Workspace, flow_id: int, contact_id: int, status: str = COMPLETED, **values: Any
) -> int:
    """A run of this moment, over unless `status` says otherwise; returns its id."""
    modified_on = values.pop("modified_on", None)
    with database.writing() as tx:
        exited_on = None if status in (ACTIVE, WAITING) else tx.now
        given = {"created_on": tx.now, "exited_on": exited_on} | values
        run = RunState(new_uuid(), flow_id, contact_id, status, **given)
        run_id = save_runs(tx, workspace.id, [run])[run.uuid]
    if modified_on is not None:
        with database.writing() as tx:
            tx.execute(update(flow_run).where(flow_run.c.id == run_id).values(modified_on=modified_on))
    return run_id


def add_waiting(
    database: Database, workspace: Workspace, flow_id: int, contact_id: int, **values: Any
) -> tuple[int, int]:
    """A session that waits in a flow, with its run; the ids of both."""
    with database.writing() as tx:
        given = {"current_flow_id": flow_id, "state": {"status": WAITING}, "created_on": tx.now} | values
        session = SessionState(new_uuid(), contact_id, "message", WAITING, 1, **given)
        session_id = save_sessions(tx, workspace.id, [session])[session.uuid]
    run_id = add_run(database, workspace, flow_id, contact_id, WAITING, session_id=session_id)
    return session_id, run_id


def add_start(
    database: Database, workspace: Workspace, flow_id: int, contact_ids: Sequence[int] = (), **values: Any
) -> int:
    """A start that is pending; returns its id."""
    with database.writing() as tx:
        names = ("group_ids", "address_ids", "query", "excluded_group_ids")
        audience = Audience(contact_ids, **{name: values.pop(name) for name in names if name in values})
        return create_start(tx, workspace.id, NewStart(flow_id, values.pop("start_type", API), audience, **values))


def status_counts(database: Database, flow_id: int) -> dict[str, int]:
    """A flow's counts of runs that are not 0."""
    words = ("active", "completed", "interrupted", "expired")
    with database.reading() as tx:
        row = tx.execute(select(flow).where(flow.c.id == flow_id)).one()
    counts = {word: getattr(row, f"{word}_run_count") for word in words}
    return {word: count for word, count in counts.items() if count}


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
