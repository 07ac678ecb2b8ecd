"""Exports: a list of a workspace as a file that a worker writes into the media store."""

from collections.abc import Mapping
from typing import Any

from persistence.data_jobs import WAKE, Held, IsStopping, Stopped, finish, renew
from persistence.database import Database, Transaction
from persistence.exports.kinds import KINDS, query_of, read_filters
from persistence.exports.writing import write_records
from persistence.lists import ListSpec, equals, in_areas
from persistence.media.store import MediaStore
from persistence.pages import Order
from persistence.records import Record
from persistence.sql.columns import new_uuid
from persistence.sql.names import check_room, require_id
from persistence.tables.contacts import group
from persistence.tables.data_jobs import PENDING, export
from persistence.tables.flows import flow
from persistence.workspaces.records import Workspace, hold_workspace

rows = export.c
UNFINISHED_LIMIT = 20

EXPORTS = ListSpec(
    export,
    Record(
        {
            "uuid": rows.uuid,
            "type": rows.type,
            "format": rows.format,
            "filters": rows.filters,
            "status": rows.status,
            "record_count": rows.record_count,
            "size": rows.size,
            "error": rows.error,
            "download_url": rows.location,
            "created_on": rows.created_on,
            "finished_on": rows.finished_on,
        }
    ),
    Order(rows.created_on, rows.id),
    standing=in_areas(rows.type, {name: kind.area for name, kind in KINDS.items()}),
    filters={"uuid": equals(rows.uuid)},
)
"""Newest first; `download_url` is a path in the media store."""


def create_export(
    tx: Transaction, workspace: Workspace, kind: str, form: str, given: Mapping[str, Any], user_id: int | None
) -> int:
    """An export that a worker writes soon; returns its id. Raises InvalidInput and Refused for filters that cannot be
    used, LimitReached if too many exports are not finished.
    """
    hold_workspace(tx, workspace.id)
    filters = check_filters(tx, workspace, kind, given)
    check_room(tx, workspace.id, export, rows.finished_on.is_(None), limit=UNFINISHED_LIMIT)
    tx.wake(WAKE)
    values = {"type": kind, "format": form, "filters": filters}
    return tx.insert(export, workspace_id=workspace.id, user_id=user_id, status=PENDING, created_on=tx.now, **values)


def check_filters(tx: Transaction, workspace: Workspace, kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The filters of an export as they are stored. Raises InvalidInput and Refused."""
    filters = read_filters(kind, given)
    if "group" in filters:
        require_id(tx, workspace.id, group, filters["group"], field="group", by_name=True)
    if "flow" in filters:
        require_id(tx, workspace.id, flow, filters["flow"], field="flow")
    KINDS[kind].spec.conditions(query_of(tx, workspace, filters))
    return filters


def run_export(
    database: Database, store: MediaStore, held: Held, workspace: Workspace, is_stopping: IsStopping
) -> None:
    """Writes the file of an export from its beginning; a worker that takes over from a dead one writes a new file.
    Raises InvalidInput, Refused, SheetFull, LeaseLost, Stopped.
    """
    row = held.row
    location = f"private/exports/{row.uuid}-{new_uuid()}.{row.format}"

    def note(done: int, _count: int) -> None:
        if is_stopping():
            raise Stopped
        renew(database, held, record_count=done)

    with store.writing(location) as file:
        count = write_records(database, store, workspace, row.type, row.format, row.filters, file, note)
        size = file.tell()
    try:
        database.write(lambda tx: finish(tx, held, location=location, size=size, record_count=count))
    except BaseException:
        store.remove(location)
        raise
