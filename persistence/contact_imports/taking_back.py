"""Taking an import back: contacts that it created and nobody has touched since are deleted, and values that it changed
become what they were, wherever they are still what it wrote. What is kept of a contact goes in the same transaction, so
that after a crash the next worker continues with the others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Executable, delete, select, tuple_, union

from persistence.changes import change_contacts, change_each_contact
from persistence.contact_imports.contact_imports import hold_import
from persistence.contacts.deletion import delete_contacts
from persistence.contacts.writes import free_urns
from persistence.data_jobs import PENDING_AGAIN, WAKE, Held, IsStopping, Stopped, finish, keep
from persistence.database import Database, Transaction
from persistence.errors import Refused
from persistence.groups.groups import lock_contacts, remove_members
from persistence.groups.smart_groups import follow_contacts
from persistence.leases import beside_index
from persistence.sql.columns import is_uuid
from persistence.sql.names import must_exist
from persistence.statements import among, statement, update
from persistence.tables.complete import metadata
from persistence.tables.contacts import (
    ACTIVE,
    contact,
    contact_urn,
    group,
    group_membership,
)
from persistence.tables.contacts import field as contact_field
from persistence.tables.data_jobs import COMPLETED, FAILED, contact_import, imported_contact
from persistence.tables.messages import message
from persistence.tables.policies import policy_of
from persistence.workspaces.records import Workspace

AT_ONCE = 200
COUNTED_AT_ONCE = 1000
NOT_ENDED = "This import has not ended. Cancel it first."
NOTHING_KEPT = "Nothing of this import can be taken back."
TRACES = [table for table in metadata.sorted_tables if policy_of(table).is_trace]

rows = contact_import.c
records = imported_contact.c
own = contact.c
urns = contact_urn.c
said = message.c
Address = tuple[str, str]


@statement
def _select_written(import_id: int, ids: Sequence[int]) -> Executable:
    mine = (records.import_id == import_id) & among(records.contact_id, ids)
    return select(records.contact_id, records.is_new, records.changes).where(mine).order_by(records.id)


@statement
def _select_contacts(workspace_id: int, ids: Sequence[int]) -> Executable:
    columns = (own.id, own.name, own.language, own.fields, own.status, own.timezone, own.last_seen_on)
    return select(*columns).where(beside_index(own.workspace_id) == workspace_id, among(own.id, ids), ~own.is_deleted)


@statement
def _select_urns(workspace_id: int, ids: Sequence[int]) -> Executable:
    theirs = (beside_index(urns.workspace_id) == workspace_id) & among(urns.contact_id, ids)
    return select(urns.contact_id, urns.scheme, urns.path).where(theirs)


@statement
def _select_groups(ids: Sequence[int]) -> Executable:
    return (
        select(group_membership.c.contact_id, group_membership.c.group_id)
        .join(group, group.c.id == group_membership.c.group_id)
        .where(among(group_membership.c.contact_id, ids), group.c.query.is_(None), ~group.c.is_system)
    )


@statement
def _find_traced(ids: Sequence[int]) -> Executable:
    return union(*(select(each.c.contact_id).where(among(each.c.contact_id, ids)) for each in TRACES))


@statement
def _select_addressed(ids: Sequence[int]) -> Executable:
    theirs = among(said.contact_id, ids) & said.urn.is_not(None)
    return select(said.contact_id, said.urn).where(theirs).distinct()


def take_back(tx: Transaction, workspace: Workspace, uuid: str) -> int:
    """Let a worker take an import back that has ended; returns its id. One that is being taken back, or was, stays as
    it is. Raises Refused, InvalidInput.
    """
    row = hold_import(tx, workspace, uuid)
    found: int = row.id
    if row.taken_back_on is not None and row.status != FAILED:
        return found
    _check(tx, workspace, row)
    mine = (rows.workspace_id == workspace.id) & (rows.id == found)
    begun = {"taken_back_on": row.taken_back_on or tx.now, "finished_on": None, "error": None, "attempts": 0}
    tx.execute(update(contact_import).where(mine).values(**begun, **PENDING_AGAIN))
    tx.wake(WAKE)
    return found


def count_taking_back(tx: Transaction, workspace: Workspace, uuid: str) -> tuple[int, dict[str, int]]:
    """The id of an import, and how many contacts would be removed, restored and kept if it was taken back now. Raises
    Refused, InvalidInput.
    """
    mine = (rows.workspace_id == workspace.id) & (rows.uuid == uuid)
    row = must_exist(tx.execute(select(contact_import).where(mine)).first() if is_uuid(uuid) else None, "import", uuid)
    counts = {"removed": row.removed, "restored": row.restored, "kept": row.kept}
    if row.taken_back_on is not None and row.status == COMPLETED:
        return row.id, counts
    if row.taken_back_on is None:
        _check(tx, workspace, row)
    last = 0
    while ids := _next_contacts(tx, workspace.id, row.id, last, COUNTED_AT_ONCE):
        plan = _plan(tx, workspace, row, ids)
        counts = {name: count + plan.counts[name] for name, count in counts.items()}
        last = ids[-1]
    return row.id, counts


def _check(tx: Transaction, workspace: Workspace, row: Any) -> None:
    if row.finished_on is None:
        raise Refused(NOT_ENDED)
    # A worker that had too many attempts may have taken back everything, but for the end.
    if row.taken_back_on is None and not _next_contacts(tx, workspace.id, row.id, 0, 1):
        raise Refused(NOTHING_KEPT)


def run_taking_back(
    database: Database, held: Held, workspace: Workspace, is_stopping: IsStopping, note: Callable[[int, int], None]
) -> None:
    """Takes an import back, some contacts in a transaction. Raises LeaseLost, Stopped."""
    done = 0
    count = held.row.created + held.row.updated
    while some := _take_some_back(database, held, workspace):
        done += some
        note(min(done, count), count)
        if is_stopping():
            raise Stopped
    database.write(lambda tx: finish(tx, held))


def _take_some_back(database: Database, held: Held, workspace: Workspace) -> int:
    """One transaction: the next contacts, what is kept of them, and the progress. Returns how many they were."""

    def write(tx: Transaction) -> tuple[int, Any]:
        ids = _next_contacts(tx, workspace.id, held.row.id, 0, AT_ONCE)
        if not ids:
            return 0, held.until
        lock_contacts(tx, workspace.id, ids, for_deletion=True)
        plan = _plan(tx, workspace, held.row, ids)
        _carry_out(tx, workspace, plan)
        tx.execute(delete(imported_contact).where(records.import_id == held.row.id, records.contact_id.in_(ids)))
        counted = {name: rows[name] + count for name, count in plan.counts.items()}
        return len(ids), keep(tx, held, attempts=0, **counted)

    count, held.until = database.write(write)
    return count


def _next_contacts(tx: Transaction, workspace_id: int, import_id: int, last: int, limit: int) -> list[int]:
    mine = (records.workspace_id == workspace_id) & (records.import_id == import_id) & (records.contact_id > last)
    found = select(records.contact_id).where(mine).distinct().order_by(records.contact_id).limit(limit)
    return list(tx.execute(found).scalars())


@dataclass(slots=True)
class _Written:
    """What an import has written to a contact, over all its rows. `values` are before and after, by key; with
    `is_broken` others have changed one between two rows."""

    is_new: bool = False
    is_broken: bool = False
    values: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    urns: set[Address] = field(default_factory=set)
    joined: bool = False

    def add(self, is_new: bool, changes: Mapping[str, Any]) -> None:
        self.is_new |= is_new
        for key, (before, after) in changes["values"].items():
            first, last = self.values.get(key, (before, before))
            self.is_broken |= last != before
            self.values[key] = (first if last == before else before, after)
        self.urns |= {(scheme, path) for scheme, path in changes["urns"]}
        self.joined |= changes["joined"]


@dataclass(slots=True)
class _Plan:
    """What is done with some contacts, by their ids. `changed` has all values of those that get some back."""

    group_id: int | None
    removed: list[int] = field(default_factory=list)
    changed: dict[int, dict[str, Any]] = field(default_factory=dict)
    freed: dict[int, set[Address]] = field(default_factory=dict)
    leaving: list[int] = field(default_factory=list)
    kept: set[int] = field(default_factory=set)

    @property
    def restored(self) -> set[int]:
        return {*self.changed, *self.freed, *self.leaving}

    @property
    def counts(self) -> dict[str, int]:
        return {"removed": len(self.removed), "restored": len(self.restored), "kept": len(self.kept)}


class _Contact(NamedTuple):
    name: str | None
    language: str | None
    fields: Mapping[str, Any]
    status: str
    timezone: str | None
    last_seen_on: datetime | None


@dataclass(frozen=True, slots=True)
class _Now:
    """What is stored now about some contacts, by their ids."""

    contacts: Mapping[int, _Contact]
    fields: set[str]
    urns: Mapping[int, set[Address]]
    groups: Mapping[int, set[int]]
    traced: set[int]
    addressed: set[tuple[int, str]]

    def values_of(self, contact_id: int) -> dict[str, Any]:
        """Those of fields that are gone are not seen any more."""
        row = self.contacts[contact_id]
        own = {"name": row.name, "language": row.language}
        return {**own, **{key: value for key, value in row.fields.items() if key in self.fields}}


def _plan(tx: Transaction, workspace: Workspace, row: Any, ids: Sequence[int]) -> _Plan:
    written: dict[int, _Written] = {each: _Written() for each in ids}
    for contact_id, is_new, changes in _select_written.rows(tx, row.id, ids):
        written[contact_id].add(is_new, changes)
    now = _look(tx, workspace.id, ids)
    plan = _Plan(_find_group(tx, workspace.id, row.group_uuid))
    for contact_id, each in written.items():
        if contact_id not in now.contacts:
            continue
        if not each.is_new:
            _plan_values(plan, contact_id, each, now)
        elif _is_untouched(plan, contact_id, each, now):
            plan.removed.append(contact_id)
        else:
            plan.kept.add(contact_id)
    return plan


def _is_untouched(plan: _Plan, contact_id: int, written: _Written, now: _Now) -> bool:
    """Whether a contact is still what the import created, and nobody has had to do with it."""
    row = now.contacts[contact_id]
    is_as_created = (row.status, row.timezone, row.last_seen_on) == (ACTIVE, None, None)
    if written.is_broken or contact_id in now.traced or not is_as_created:
        return False
    joined = {plan.group_id} if written.joined and plan.group_id is not None else set()
    if now.groups.get(contact_id, set()) != joined or now.urns.get(contact_id, set()) != written.urns:
        return False
    left = {key: after for key, (_, after) in written.values.items() if key in now.fields | {"name", "language"}}
    return _filled(left) == _filled(now.values_of(contact_id))


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _plan_values(plan: _Plan, contact_id: int, written: _Written, now: _Now) -> None:
    """A contact that was there before gets back what is still as the import wrote it."""
    current = now.values_of(contact_id)
    new = {}
    for key, (before, after) in written.values.items():
        if key not in now.fields and key not in ("name", "language"):
            continue
        if current.get(key) == after:
            new[key] = before
        elif current.get(key) != before:
            plan.kept.add(contact_id)
    if any(current.get(key) != value for key, value in new.items()):
        row = now.contacts[contact_id]
        merged = {"name": row.name, "language": row.language, **row.fields, **new}
        plan.changed[contact_id] = merged
    mine = written.urns & now.urns.get(contact_id, set())
    used = {address for address in mine if (contact_id, ":".join(address)) in now.addressed}
    if used:
        plan.kept.add(contact_id)
    if mine - used:
        plan.freed[contact_id] = mine - used
    if written.joined and plan.group_id in now.groups.get(contact_id, set()):
        plan.leaving.append(contact_id)


def _look(tx: Transaction, workspace_id: int, ids: Sequence[int]) -> _Now:
    fields = select(contact_field.c.uuid).where(contact_field.c.workspace_id == workspace_id)
    addresses: dict[int, set[Address]] = {}
    for contact_id, scheme, path in _select_urns.rows(tx, workspace_id, ids):
        addresses.setdefault(contact_id, set()).add((scheme, path))
    groups: dict[int, set[int]] = {}
    for contact_id, group_id in _select_groups.rows(tx, ids):
        groups.setdefault(contact_id, set()).add(group_id)
    return _Now(
        contacts={row[0]: _Contact(*row[1:]) for row in _select_contacts.rows(tx, workspace_id, ids)},
        fields=set(tx.execute(fields).scalars()),
        urns=addresses,
        groups=groups,
        traced={contact_id for (contact_id,) in _find_traced.rows(tx, ids)},
        addressed={(contact_id, str(urn)) for contact_id, urn in _select_addressed.rows(tx, ids)},
    )


def _find_group(tx: Transaction, workspace_id: int, uuid: str | None) -> int | None:
    """The group that the contacts joined, if it is still there."""
    mine = (group.c.workspace_id == workspace_id) & (group.c.uuid == uuid)
    return None if uuid is None else tx.execute(select(group.c.id).where(mine)).scalar()


def _carry_out(tx: Transaction, workspace: Workspace, plan: _Plan) -> None:
    if plan.removed:
        delete_contacts(tx, workspace.id, plan.removed)
    if plan.changed:
        changes = {
            contact_id: {
                "name": values["name"],
                "language": values["language"],
                "fields": {
                    key: value for key, value in values.items() if key not in ("name", "language") and value is not None
                },
            }
            for contact_id, values in plan.changed.items()
        }
        change_each_contact(tx, workspace.id, changes)
    if plan.freed:
        named = [(contact_id, *address) for contact_id, some in plan.freed.items() for address in some]
        which = tuple_(urns.contact_id, urns.scheme, urns.path).in_(named)
        free_urns(tx, (urns.workspace_id == workspace.id) & which)
    if plan.leaving and plan.group_id is not None:
        remove_members(tx, workspace.id, plan.group_id, plan.leaving)
    touched = sorted({*plan.changed, *plan.freed})
    change_contacts(tx, workspace.id, touched)
    follow_contacts(tx, workspace.id, touched)
