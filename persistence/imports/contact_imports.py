"""Imports of contacts: an uploaded file waits until a worker has read its first rows, then until people have chosen
what its columns mean."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import case, literal, select, update

from persistence.data_jobs import PENDING_AGAIN, WAKE
from persistence.database import Transaction
from persistence.errors import Refused
from persistence.groups.members import find_manual_groups
from persistence.imports.columns import Column, choose_targets, make_fields
from persistence.lists import ListSpec, equals
from persistence.sql.columns import is_uuid
from persistence.sql.json_sql import declare_record
from persistence.sql.names import check_room, must_exist
from persistence.sql.pages import Order
from persistence.tables.contacts import group
from persistence.tables.data_jobs import CANCELLED, PENDING, READING, READY, contact_import
from persistence.workspaces import Workspace, hold_workspace

rows = contact_import.c
UNFINISHED_LIMIT = 20
FILENAME_LENGTH = 255
FINISHED = "This import has ended."
NOT_READY = "This import has not been read yet, or was started already."

CONTACT_IMPORTS = ListSpec(
    contact_import,
    declare_record(
        {
            "uuid": rows.uuid,
            "filename": rows.filename,
            "status": case((rows.finished_on.is_(None) & rows.cancelled_on.is_not(None), CANCELLED), else_=rows.status),
            "columns": rows.columns,
            "group": rows.group_uuid,
            "row_count": rows.row_count,
            "done": case((rows.last_row > literal(1), rows.last_row - literal(1)), else_=literal(0)),
            "created": rows.created,
            "updated": rows.updated,
            "rejected": rows.rejected,
            "error": rows.error,
            "rejects_url": rows.location,
            "created_on": rows.created_on,
            "finished_on": rows.finished_on,
        }
    ),
    Order(rows.created_on, rows.id),
    filters={"uuid": equals(rows.uuid)},
)
"""Newest first; `rejects_url` is a path in the media store."""


def create_import(tx: Transaction, workspace: Workspace, filename: str, source: str, user_id: int | None) -> int:
    """An import of a file in the media store, which a worker reads soon; returns its id. Raises LimitReached if too
    many imports are not finished.
    """
    hold_workspace(tx, workspace.id)
    check_room(tx, workspace.id, contact_import, rows.finished_on.is_(None), limit=UNFINISHED_LIMIT)
    tx.wake(WAKE)
    return tx.insert(
        contact_import,
        workspace_id=workspace.id,
        user_id=user_id,
        status=READING,
        filename=filename[-FILENAME_LENGTH:],
        source=source,
        columns=[],
        created_on=tx.now,
    )


def start_import(
    tx: Transaction, workspace: Workspace, uuid: str, chosen: Mapping[str, str], group_reference: str | None
) -> int:
    """Let a worker import a file that was read; returns the import's id. `chosen` are targets of columns by header,
    instead of the guessed ones; their new fields are made now. Raises Refused, InvalidInput.
    """
    hold_workspace(tx, workspace.id)
    row = _hold_import(tx, workspace, uuid)
    if row.status != READY or row.cancelled_on is not None:
        raise Refused(NOT_READY)
    columns = make_fields(tx, workspace, choose_targets(read_columns(row.columns), chosen))
    found: int = row.id
    start_read(tx, workspace, found, columns, row.row_count, group_reference)
    return found


def cancel_import(tx: Transaction, workspace: Workspace, uuid: str) -> int:
    """Stop an import that is not finished; returns its id. The worker that has it stores nothing more; another one
    writes the file of rejected rows. Contacts that were imported stay. Raises Refused, InvalidInput.
    """
    row = _hold_import(tx, workspace, uuid)
    if row.finished_on is not None:
        raise Refused(FINISHED)
    mine = (rows.workspace_id == workspace.id) & (rows.id == row.id)
    tx.execute(update(contact_import).where(mine).values(cancelled_on=tx.now, **PENDING_AGAIN))
    tx.wake(WAKE)
    found: int = row.id
    return found


def _hold_import(tx: Transaction, workspace: Workspace, uuid: str) -> Any:
    mine = (rows.workspace_id == workspace.id) & (rows.uuid == uuid)
    row = tx.execute(select(contact_import).where(mine).with_for_update()).first() if is_uuid(uuid) else None
    return must_exist(row, "import", uuid)


def start_read(
    tx: Transaction,
    workspace: Workspace,
    import_id: int,
    columns: Sequence[Column],
    row_count: int,
    group_reference: str | None,
) -> None:
    """Start an import whose file was read: its columns have their final targets. Raises InvalidInput."""
    mine = (rows.workspace_id == workspace.id) & (rows.id == import_id)
    group_uuid = _find_group(tx, workspace.id, group_reference)
    values = {"columns": show_columns(columns), "row_count": row_count, "group_uuid": group_uuid}
    tx.execute(update(contact_import).where(mine).values(status=PENDING, **values))
    tx.wake(WAKE)


def _find_group(tx: Transaction, workspace_id: int, reference: str | None) -> str | None:
    """The UUID of a manual group. Raises InvalidInput."""
    if reference is None:
        return None
    (group_id,) = find_manual_groups(tx, workspace_id, [reference], field="group")
    mine = (group.c.workspace_id == workspace_id) & (group.c.id == group_id)
    return tx.execute(select(group.c.uuid).where(mine)).scalar_one()


def read_columns(stored: Sequence[Mapping[str, Any]]) -> list[Column]:
    return [Column(each["header"], tuple(each["examples"]), each["target"]) for each in stored]


def show_columns(columns: Sequence[Column]) -> list[dict[str, Any]]:
    return [{**asdict(each), "examples": list(each.examples)} for each in columns]
