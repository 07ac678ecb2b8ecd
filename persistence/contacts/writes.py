"""Creating and changing contacts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, Executable, literal_column, select

from flows.urns import Urn
from persistence.changes import change_contacts
from persistence.contacts.owners import find_owners
from persistence.contacts.records import list_urns
from persistence.contacts.urns import FREED
from persistence.database import Transaction
from persistence.errors import InvalidInput, LostRace
from persistence.fields import find_fields
from persistence.groups.groups import add_members, remove_members, set_manual_groups
from persistence.groups.smart_groups import follow_contacts, follow_new
from persistence.sql.names import read_language
from persistence.stamps import CONTACT_CREATED, stamped, tell
from persistence.statements import insert_rows, statement, update
from persistence.tables.contacts import ACTIVE, contact, contact_urn
from persistence.workspaces.records import Workspace

URNS_LIMIT = 100
TAKEN_URN = "This URN belongs to another contact."


@dataclass(frozen=True, slots=True)
class ContactChange:
    """The changes of a contact in a request; None means not given (`clears` names properties that are null). `urns` and
    `group_ids` replace what there is, `more_urns`, `joins` and `leaves` add to it and take from it.
    `are_urns_found_free` says that the caller has found no other owner of the URNs, and would act differently if there
    were one.
    """

    name: str | None = None
    language: str | None = None
    urns: Sequence[Urn] | None = None
    group_ids: Sequence[int] | None = None
    fields: Mapping[str, str | None] | None = None
    clears: frozenset[str] = frozenset()
    are_urns_found_free: bool = False
    more_urns: Sequence[Urn] = ()
    joins: Sequence[int] = ()
    leaves: Sequence[int] = ()


def create_contact(tx: Transaction, workspace: Workspace, change: ContactChange, *, by_agent: bool = False) -> int:
    """Create an active contact; returns its id. Raises InvalidInput and LostRace as `change_contact` does."""
    change = _read_language(change)
    fields = _read_fields(tx, workspace, change, {}, by_agent=by_agent)
    contact_id = tx.insert(
        contact,
        workspace_id=workspace.id,
        name=change.name or None,
        language=change.language or None,
        fields={key: value for key, value in fields.items() if value is not None},
        created_on=tx.now,
        modified_on=stamped(tx, contact, workspace.id),
    )
    tell(tx, workspace.id, CONTACT_CREATED, [contact_id])
    _check_free(tx, workspace.id, change.more_urns, None, is_found_free=False, field="add_urns")
    urns = [*(change.urns or ()), *change.more_urns]
    _own_urns(tx, workspace.id, contact_id, urns, is_found_free=change.are_urns_found_free)
    for group_id in sorted({*(change.group_ids or ()), *change.joins}):
        add_members(tx, workspace.id, group_id, [contact_id])
    follow_new(tx, workspace.id, [contact_id])
    return contact_id


def change_contact(
    tx: Transaction, workspace: Workspace, contact_id: int, change: ContactChange, *, by_agent: bool = False
) -> None:
    """Change what is given and leave the rest; modified_on changes only if something changed. Raises InvalidInput, and
    LostRace if the contact was deleted, or a URN was taken, since the caller read them.
    """
    change = _read_language(change)
    ((name, language, stored, status, is_deleted),) = _lock_contact.rows(tx, workspace.id, contact_id)
    if is_deleted:
        raise LostRace
    for each, group_ids in (("groups", change.group_ids), ("add_groups", change.joins)):
        if group_ids and status != ACTIVE:
            raise InvalidInput.on(each, "Only active contacts can be in groups.")
    read = _read_fields(tx, workspace, change, stored, by_agent=by_agent)
    before = {"name": name, "language": language, "fields": stored}
    wanted: dict[str, Any] = {**before, "fields": _merge_fields(dict(stored), read)}
    for each in ("name", "language"):
        given = getattr(change, each)
        if given is not None or each in change.clears:
            wanted[each] = given or None
    changed = wanted != before
    if change.urns is not None:
        _check_free(tx, workspace.id, change.urns, contact_id, is_found_free=change.are_urns_found_free)
        changed |= set_urns(tx, workspace.id, contact_id, change.urns)
    if change.group_ids is not None:
        changed |= set_manual_groups(tx, workspace.id, contact_id, change.group_ids)
    if change.more_urns:
        _check_free(tx, workspace.id, change.more_urns, contact_id, is_found_free=False, field="add_urns")
        changed |= _add_urns(tx, workspace.id, contact_id, change.more_urns)
    for group_id in sorted({*change.joins, *change.leaves}):
        move = add_members if group_id in change.joins else remove_members
        changed |= bool(move(tx, workspace.id, group_id, [contact_id]))
    if changed:
        change_contacts(tx, workspace.id, [contact_id], wanted)
        follow_contacts(tx, workspace.id, [contact_id])


@statement
def _lock_contact(workspace_id: int, contact_id: int) -> Executable:
    columns = (contact.c.name, contact.c.language, contact.c.fields, contact.c.status, contact.c.is_deleted)
    mine = (contact.c.workspace_id == workspace_id) & (contact.c.id == contact_id)
    return select(*columns).where(mine).with_for_update(key_share=True)


def _read_language(change: ContactChange) -> ContactChange:
    return replace(change, language=read_language(change.language)) if change.language else change


def _read_fields(
    tx: Transaction, workspace: Workspace, change: ContactChange, stored: Mapping[str, Any], *, by_agent: bool
) -> dict[str, dict[str, Any] | None]:
    """New values by the UUID of their field; `stored` are the contact's values so far. Raises InvalidInput for unknown
    keys and for fields that agents may not edit.
    """
    if not change.fields:
        return {}
    from persistence.contacts.urns import read_place_values, read_value  # noqa: PLC0415  # it loads all of dates

    known = find_fields(tx, workspace.id, list(change.fields))
    values: dict[str, dict[str, Any] | None] = {}
    kinds: dict[str, str] = {}
    for key, text in change.fields.items():
        uuid, kind, access = known.get(key, ("", "", "none"))
        if key not in known or (by_agent and access == "none"):
            raise InvalidInput.on("fields", f'No contact field "{key[:36]}".')
        if by_agent and access != "edit":
            raise InvalidInput.on("fields", f'Agents cannot edit the field "{key}".')
        present = stored.get(uuid)
        # What the API shows is a plain number; in the workspace's format it would be another one, or none.
        is_shown = present is not None and text is not None and text == present.get(kind)
        values[uuid] = present if is_shown else read_value(workspace, text, tx.now)
        kinds[uuid] = kind
    return read_place_values(tx, workspace, stored, values, kinds)


def _merge_fields(stored: dict[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**stored, **values}
    return {uuid: value for uuid, value in merged.items() if value is not None}


def _check_free(
    tx: Transaction,
    workspace_id: int,
    urns: Sequence[Urn],
    contact_id: int | None,
    *,
    is_found_free: bool,
    field: str = "urns",
) -> None:
    owners = find_owners(tx, workspace_id, urns)
    for index, urn in enumerate(urns):
        owner = owners.get(urn.identity)
        if owner is not None and owner.contact_id != contact_id:
            if is_found_free:
                raise LostRace
            raise InvalidInput.at(field, index, TAKEN_URN)


def set_urns(tx: Transaction, workspace_id: int, contact_id: int, urns: Sequence[Urn]) -> bool:
    """Make these the contact's URNs in this order; removed ones become free. Returns whether anything changed."""
    rows = contact_urn.c
    ordered = _select_urns.rows(tx, contact_id)
    present = {(scheme, path): urn_id for urn_id, scheme, path in ordered}
    wanted = {(urn.scheme, urn.path): urn for urn in urns}
    if list(present) == list(wanted):
        return False
    dropped = [urn_id for address, urn_id in present.items() if address not in wanted]
    if dropped:
        free_urns(tx, (rows.workspace_id == workspace_id) & rows.id.in_(dropped))
    if _link_urns(tx, workspace_id, contact_id, list(wanted.values())) < len(wanted):
        raise LostRace
    return True


def _add_urns(tx: Transaction, workspace_id: int, contact_id: int, urns: Sequence[Urn]) -> bool:
    """Gives a contact those of these URNs that it has not, after its others; returns whether there are any. Raises
    InvalidInput for more than it may have.
    """
    present = list_urns(tx, workspace_id, contact_id)
    known = {(urn.scheme, urn.path) for urn in present}
    new = [urn for urn in urns if (urn.scheme, urn.path) not in known]
    if len(present) + len(new) > URNS_LIMIT:
        raise InvalidInput.on("add_urns", f"A contact has at most {URNS_LIMIT} URNs.")
    return set_urns(tx, workspace_id, contact_id, [*present, *new])


def _own_urns(tx: Transaction, workspace_id: int, contact_id: int, urns: Sequence[Urn], *, is_found_free: bool) -> None:
    """Gives URNs to a new contact. Raises InvalidInput for one that another contact has, and LostRace if that was found
    to be otherwise before, or one was taken meanwhile.
    """
    wanted = list({(urn.scheme, urn.path): urn for urn in urns}.values())
    if wanted and _link_urns(tx, workspace_id, contact_id, wanted) < len(wanted):
        _check_free(tx, workspace_id, urns, contact_id, is_found_free=is_found_free)
        raise LostRace


def _link_urns(tx: Transaction, workspace_id: int, contact_id: int, urns: Sequence[Urn]) -> int:
    """Gives a contact those of these URNs that no other has, in this order; returns how many."""
    links = [
        {
            "workspace_id": workspace_id,
            "contact_id": contact_id,
            "scheme": urn.scheme,
            "path": urn.path,
            "display": urn.display or None,
            "priority": priority,
        }
        for priority, urn in enumerate(urns)
    ]
    return len(_insert_urns.rows(tx, links))


@statement
def _select_urns(contact_id: int) -> Executable:
    rows = contact_urn.c
    theirs = select(rows.id, rows.scheme, rows.path).where(rows.contact_id == contact_id)
    return theirs.order_by(rows.priority, rows.id)


_insert_urns = insert_rows(
    contact_urn,
    ("workspace_id", "contact_id", "scheme", "path", "display", "priority"),
    (contact_urn.c.id,),
    unless_taken=("workspace_id", "scheme", "path"),
    changing=("contact_id", "priority", "display"),
    only_if=contact_urn.c.contact_id.is_(None) | (contact_urn.c.contact_id == literal_column("excluded.contact_id")),
)


def free_urns(tx: Transaction, condition: ColumnElement[bool]) -> None:
    """Frees URNs for other contacts."""
    tx.execute(update(contact_urn).where(condition).values(**FREED))
