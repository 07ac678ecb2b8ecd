"""Actions on all contacts that match a query or are in a group: a request stores the job, a worker does it. A part of
the contacts and the progress are one transaction: a worker that dies leaves neither, and the next one continues behind
the last part.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, func, select, true

from persistence.contacts.actions import ADD, act, find_group
from persistence.contacts.records import CONTACTS
from persistence.data_jobs import WAKE, Held, IsStopping, Note, Stopped, finish, keep
from persistence.database import Database, Transaction
from persistence.errors import InvalidInput, Refused
from persistence.groups.groups import lock_contacts
from persistence.leases import beside_index
from persistence.lists import Condition, ListQuery, ListSpec, equals
from persistence.pages import Order
from persistence.records import Record
from persistence.sql.columns import is_uuid
from persistence.sql.names import check_room, must_exist, require_id
from persistence.statements import update
from persistence.tables.contacts import ACTIVE, contact, group
from persistence.tables.data_jobs import CANCELLED, PENDING, contact_job
from persistence.workspaces.records import Workspace, hold_workspace

rows = contact_job.c
UNFINISHED_LIMIT = 20
AT_ONCE = 200
"""Contacts of one transaction."""
LOOKED_AT = 5000
"""Ids among which one statement looks for contacts that match."""
FINISHED = "This job has ended."
NOBODY = "A query or a group is required, so that a mistake does not reach everybody."
FORGOTTEN = "The query named a person who was erased."


def _own_of_agents(query: ListQuery) -> list[Condition]:
    return [rows.user_id == query.user_id] if query.is_agent else []


CONTACT_JOBS = ListSpec(
    contact_job,
    Record(
        {
            "uuid": rows.uuid,
            "action": rows.action,
            "group": rows.group_uuid,
            "filters": rows.filters,
            "status": rows.status,
            "total": rows.total,
            "done": rows.done,
            "skipped": Record({"not_active": rows.not_active}),
            "error": rows.error,
            "created_on": rows.created_on,
            "finished_on": rows.finished_on,
        }
    ),
    Order(rows.created_on, rows.id),
    standing=_own_of_agents,
    filters={"uuid": equals(rows.uuid)},
)
"""Newest first."""


def create_job(
    tx: Transaction,
    workspace: Workspace,
    action: str,
    group_reference: str | None,
    chosen: Mapping[str, str],
    user_id: int | None,
    *,
    is_agent: bool = False,
) -> int:
    """A job that a worker does soon; returns its id. `chosen` has the parameters `query` and `group` of the list of
    contacts. Raises InvalidInput, Refused, and LimitReached if too many jobs are not finished.
    """
    hold_workspace(tx, workspace.id)
    if not chosen:
        raise InvalidInput.across(NOBODY)
    group_id = find_group(tx, workspace.id, action, group_reference)
    filters = dict(chosen)
    if "group" in filters:
        source_id = require_id(tx, workspace.id, group, filters["group"], field="members_of", by_name=True)
        filters["group"] = _read_uuid(tx, workspace.id, source_id)
    if "query" in filters:
        CONTACTS.conditions(ListQuery(tx, workspace, {"query": filters["query"]}, is_agent=is_agent))
    check_room(tx, workspace.id, contact_job, rows.finished_on.is_(None), limit=UNFINISHED_LIMIT)
    tx.wake(WAKE)
    return tx.insert(
        contact_job,
        workspace_id=workspace.id,
        user_id=user_id,
        status=PENDING,
        action=action,
        group_uuid=None if group_id is None else _read_uuid(tx, workspace.id, group_id),
        filters=filters,
        created_on=tx.now,
    )


def cancel_job(tx: Transaction, workspace: Workspace, uuid: str, *, own_of: int | None = None) -> int:
    """End a job that is not finished; returns its id. The worker that has it stores nothing more. With `own_of` only
    those of this user exist. Raises Refused, InvalidInput.
    """
    mine = (rows.workspace_id == workspace.id) & (rows.uuid == uuid)
    own = true() if own_of is None else rows.user_id == own_of
    holding = select(rows.id, rows.finished_on).where(mine, own).with_for_update()
    row = must_exist(tx.execute(holding).first() if is_uuid(uuid) else None, "job", uuid)
    if row.finished_on is not None:
        raise Refused(FINISHED)
    ended = {"status": CANCELLED, "finished_on": tx.now, "leased_until": None}
    tx.execute(update(contact_job).where(rows.workspace_id == workspace.id, rows.id == row.id).values(**ended))
    found: int = row.id
    return found


def run_job(database: Database, held: Held, workspace: Workspace, is_stopping: IsStopping, note: Note) -> None:
    """Does a job from the first contact that is not done. Raises InvalidInput if its group or its query is gone,
    LeaseLost, Stopped.
    """
    place = _Place(held.row.total, held.row.end_contact_id, held.row.last_contact_id)
    if place.total is None:
        held.until = database.write(lambda tx: place.begin(tx, held, workspace))
    done = held.row.done + held.row.not_active
    while place.last_id < place.end_id:
        if is_stopping():
            raise Stopped
        held.until, last_id, count = database.write(lambda tx: _do_some(tx, held, workspace, place))
        place.last_id = last_id
        done += count
        note(done, place.total or 0)
    database.write(lambda tx: finish(tx, held))


class _Place:
    """How many contacts matched when a job began, the last contact that it looks at, and how far it is."""

    def __init__(self, total: int | None, end_id: int, last_id: int) -> None:
        self.total, self.end_id, self.last_id = total, end_id, last_id

    def begin(self, tx: Transaction, held: Held, workspace: Workspace) -> datetime:
        conditions = _conditions(tx, held, workspace)
        self.total = tx.execute(select(func.count()).select_from(contact).where(*conditions)).scalar_one()
        newest = select(func.max(contact.c.id)).where(contact.c.workspace_id == workspace.id)
        self.end_id = tx.execute(newest).scalar() or 0
        return keep(tx, held, total=self.total, end_contact_id=self.end_id)


def _conditions(tx: Transaction, held: Held, workspace: Workspace) -> list[ColumnElement[bool]]:
    """Those of the contacts of a job, as the list of contacts has them. Raises InvalidInput."""
    filters = dict(held.row.filters)
    if not filters or not all(filters.values()):
        raise InvalidInput.across(FORGOTTEN)
    if "group" in filters:
        require_id(tx, workspace.id, group, filters["group"], field="members_of")
    return CONTACTS.conditions(ListQuery(tx, workspace, filters))


def _do_some(tx: Transaction, held: Held, workspace: Workspace, place: _Place) -> tuple[datetime, int, int]:
    """The next contacts, what is done with them, and the progress. Returns the end of the lease, the last contact, and
    how many matched.
    """
    row = held.row
    group_id = find_group(tx, workspace.id, row.action, row.group_uuid)
    conditions = _conditions(tx, held, workspace)
    ids, last_id = _find_next(tx, workspace.id, conditions, place)
    fit = ids if row.action != ADD else _without_inactive(tx, workspace.id, ids)
    if fit:
        act(tx, workspace.id, row.action, fit, group_id)
    counts = {"done": rows.done + len(fit), "not_active": rows.not_active + len(ids) - len(fit)}
    return keep(tx, held, last_contact_id=last_id, attempts=0, **counts), last_id, len(ids)


def _find_next(
    tx: Transaction, workspace_id: int, conditions: Sequence[ColumnElement[bool]], place: _Place
) -> tuple[list[int], int]:
    """Contacts that match, in the order of ids, and the contact up to which was looked: those of a range of ids. By
    another index SQLite would read all contacts of the workspace for each part.
    """
    rest = contact.c.id.between(place.last_id + 1, place.end_id)
    ours = select(contact.c.id).where(beside_index(contact.c.workspace_id) == workspace_id, rest)
    first_id = tx.execute(ours.order_by(contact.c.id).limit(1)).scalar()
    if first_id is None:
        return [], place.end_id
    last_id = min(first_id + LOOKED_AT - 1, place.end_id)
    matching = select(contact.c.id).where(contact.c.id.between(first_id, last_id), *conditions)
    some = matching.order_by(contact.c.id).limit(AT_ONCE).with_hint(contact, "NOT INDEXED", "sqlite")
    ids = list(tx.execute(some).scalars())
    return ids, ids[-1] if len(ids) == AT_ONCE else last_id


def _without_inactive(tx: Transaction, workspace_id: int, ids: Sequence[int]) -> list[int]:
    found = lock_contacts(tx, workspace_id, ids, for_deletion=True)
    return [each for each, (status, _) in zip(ids, found, strict=True) if status == ACTIVE]


def _read_uuid(tx: Transaction, workspace_id: int, group_id: int) -> str:
    mine = (group.c.workspace_id == workspace_id) & (group.c.id == group_id)
    return tx.execute(select(group.c.uuid).where(mine)).scalar_one()
