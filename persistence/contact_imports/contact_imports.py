"""Imports of contacts: an uploaded file waits until a worker has read its first rows, then until people have chosen
what its columns mean."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from sqlalchemy import case, literal, select

from persistence.contact_imports.columns import Choice, Column, choose_targets, make_fields
from persistence.data_jobs import PENDING_AGAIN, WAKE
from persistence.database import Transaction
from persistence.errors import Refused
from persistence.groups.groups import find_manual_groups
from persistence.lists import ListSpec, equals
from persistence.pages import Order
from persistence.records import Record
from persistence.sql.columns import is_uuid
from persistence.sql.names import check_room, must_exist
from persistence.statements import update
from persistence.tables.contacts import group
from persistence.tables.data_jobs import CANCELLED, COMPLETED, PENDING, READING, READY, contact_import
from persistence.workspaces.records import Workspace, hold_workspace

rows = contact_import.c
UNFINISHED_LIMIT = 20
TEXTS = ("examples", "unread_examples", "short_year_examples")
KEEP, REJECT, REFUSE = UNREAD = ("keep", "reject", "refuse")
"""What is done with values that are not understood: they are kept as texts, reject their row, or the whole file."""
FILENAME_LENGTH = 255
FINISHED = "This import has ended."
GOES_BACK = "This import is being taken back, which goes on to its end."
TAKEN_BACK = "taken_back"
NOT_READY = "This import has not been read yet, or was started already."

CONTACT_IMPORTS = ListSpec(
    contact_import,
    Record(
        {
            "uuid": rows.uuid,
            "filename": rows.filename,
            "status": case(
                (rows.taken_back_on.is_not(None) & (rows.status == COMPLETED), TAKEN_BACK),
                (rows.taken_back_on.is_(None) & rows.finished_on.is_(None) & rows.cancelled_on.is_not(None), CANCELLED),
                else_=rows.status,
            ),
            "columns": rows.columns,
            "reading": rows.reading,
            "group": rows.group_uuid,
            "row_count": rows.row_count,
            "done": case((rows.last_row > literal(1), rows.last_row - literal(1)), else_=literal(0)),
            "created": rows.created,
            "updated": rows.updated,
            "rejected": rows.rejected,
            "removed": rows.removed,
            "restored": rows.restored,
            "kept": rows.kept,
            "error": rows.error,
            "rejects_url": rows.location,
            "created_on": rows.created_on,
            "taken_back_on": rows.taken_back_on,
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
    tx: Transaction,
    workspace: Workspace,
    uuid: str,
    chosen: Sequence[Choice],
    group_reference: str | None,
    how: Mapping[str, str] = MappingProxyType({}),
) -> int:
    """Let a worker import a file that was read; returns the import's id. `chosen` are targets of columns instead of the
    guessed ones; their new fields are made now. `how` says how it is read. Raises Refused, InvalidInput.
    """
    hold_workspace(tx, workspace.id)
    row = _hold_ready(tx, workspace, uuid)
    columns = make_fields(tx, workspace, choose_targets(read_columns(row.columns), chosen))
    found: int = row.id
    start_read(tx, workspace, found, columns, row.row_count, group_reference, {**(row.reading or {}), **how})
    return found


def read_again(
    tx: Transaction, workspace: Workspace, uuid: str, chosen: Sequence[Choice], how: Mapping[str, str]
) -> int:
    """Let a worker read a file again: with another encoding or other formats, and with the columns that were chosen, so
    that people see which values are not understood then. Raises Refused, InvalidInput.
    """
    row = _hold_ready(tx, workspace, uuid)
    columns = choose_targets(read_columns(row.columns), chosen) if chosen else []
    mine = (rows.workspace_id == workspace.id) & (rows.id == row.id)
    # Only what people have said stays when the file is read again; the rest is guessed once more.
    said = {**{name: row.reading[name] for name in (row.reading or {}).get("said", ())}, **how}
    values = {"status": READING, "columns": show_columns(columns), "reading": {**said, "said": sorted(said)}}
    tx.execute(update(contact_import).where(mine).values(attempts=0, **values))
    tx.wake(WAKE)
    found: int = row.id
    return found


def _hold_ready(tx: Transaction, workspace: Workspace, uuid: str) -> Any:
    row = hold_import(tx, workspace, uuid)
    if row.status != READY or row.cancelled_on is not None:
        raise Refused(NOT_READY)
    return row


def cancel_import(tx: Transaction, workspace: Workspace, uuid: str) -> int:
    """Stop an import that is not finished; returns its id. The worker that has it stores nothing more; another one
    writes the file of rejected rows. Contacts that were imported stay. Raises Refused, InvalidInput.
    """
    row = hold_import(tx, workspace, uuid)
    if row.finished_on is not None:
        raise Refused(FINISHED)
    if row.taken_back_on is not None:
        raise Refused(GOES_BACK)
    mine = (rows.workspace_id == workspace.id) & (rows.id == row.id)
    tx.execute(update(contact_import).where(mine).values(cancelled_on=tx.now, **PENDING_AGAIN))
    tx.wake(WAKE)
    found: int = row.id
    return found


def hold_import(tx: Transaction, workspace: Workspace, uuid: str) -> Any:
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
    reading: Mapping[str, Any],
) -> None:
    """Start an import whose file was read: its columns have their final targets. Raises InvalidInput."""
    mine = (rows.workspace_id == workspace.id) & (rows.id == import_id)
    group_uuid = _find_group(tx, workspace.id, group_reference)
    values = {"columns": show_columns(columns), "row_count": row_count, "group_uuid": group_uuid}
    started = {"status": PENDING, "reading": dict(reading), "attempts": 0}
    tx.execute(update(contact_import).where(mine).values(**started, **values))
    tx.wake(WAKE)


def _find_group(tx: Transaction, workspace_id: int, reference: str | None) -> str | None:
    """The UUID of a manual group. Raises InvalidInput."""
    if reference is None:
        return None
    (group_id,) = find_manual_groups(tx, workspace_id, [reference], field="group")
    mine = (group.c.workspace_id == workspace_id) & (group.c.id == group_id)
    return tx.execute(select(group.c.uuid).where(mine)).scalar_one()


def read_columns(stored: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Those of imports of older programs have fewer properties."""
    return [
        Column(**{"place": place, **each, **{name: tuple(each.get(name, ())) for name in TEXTS}})
        for place, each in enumerate(stored, 1)
    ]


def show_columns(columns: Sequence[Column]) -> list[dict[str, Any]]:
    return [{**asdict(each), **{name: list(getattr(each, name)) for name in TEXTS}} for each in columns]
