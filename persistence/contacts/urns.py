"""Contacts by URN: finds the owners of URNs, and creates contacts for new URNs."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Executable, bindparam, case, select, update

from flows.phones import normalize_number
from flows.urns import Urn
from persistence.changes import change_contacts
from persistence.contacts.owners import UrnOwner, hold_owners
from persistence.database import Transaction
from persistence.errors import LostRace
from persistence.groups.smart_groups import find_dependents, follow_contacts, follow_new
from persistence.sql.columns import new_uuid, split
from persistence.sql.due_work import beside_index
from persistence.stamps import changes_of, stamped
from persistence.statements import among, insert_rows, statement
from persistence.tables.contacts import ACTIVE, STOPPED, contact, contact_urn

FIRST_PRIORITY = 0
FREED: dict[str, Any] = {"contact_id": None, "channel_id": None, "former_contact_id": contact_urn.c.contact_id}
"""What makes a URN free for others."""

_REVIVED = {"status": case((contact.c.status == STOPPED, ACTIVE), else_=contact.c.status)}


def ensure_owners(
    tx: Transaction,
    workspace_id: int,
    urns: Iterable[Urn],
    *,
    channel_id: int | None = None,
    beside: Sequence[int] = (),
    changes: bool = False,
    seen: Container[str] = (),
) -> dict[str, UrnOwner]:
    """The owner of every URN; an active contact is created for each URN without an owner, as seen now if its identity
    is in `seen`. A constant number of statements. Owners and the contacts `beside` are locked as by `hold_owners`. If
    another transaction creates the same contact first, or moves a URN, this raises LostRace: run it by
    `Database.write`.
    """
    wanted = list({urn.identity: urn for urn in urns}.values())
    owners = hold_owners(tx, workspace_id, wanted, beside, changes=changes)
    missing = [urn for urn in wanted if urn.identity not in owners]
    if missing:
        owners |= _create_contacts(tx, workspace_id, missing, channel_id, seen)
        follow_new(tx, workspace_id, [owners[urn.identity].contact_id for urn in missing])
    return owners


def _create_contacts(
    tx: Transaction, workspace_id: int, urns: Sequence[Urn], channel_id: int | None, seen: Container[str]
) -> dict[str, UrnOwner]:
    moment = stamped(tx, contact, workspace_id)
    values: list[dict[str, Any]] = [
        {
            "uuid": new_uuid(),
            "workspace_id": workspace_id,
            "status": ACTIVE,
            "is_deleted": False,
            "fields": {},
            "open_ticket_count": 0,
            "created_on": tx.now,
            "modified_on": moment,
            "last_seen_on": tx.now if urn.identity in seen else None,
        }
        for urn in urns
    ]
    made = dict(_insert_contacts.rows(tx, values))
    uuids = {urn.identity: str(row["uuid"]) for urn, row in zip(urns, values, strict=True)}
    links = [
        {
            "workspace_id": workspace_id,
            "contact_id": made[uuids[urn.identity]],
            "scheme": urn.scheme,
            "path": urn.path,
            "display": urn.display or None,
            "priority": FIRST_PRIORITY,
            "channel_id": channel_id,
        }
        for urn in sorted(urns, key=lambda each: each.identity)
    ]
    owners: dict[str, UrnOwner] = {}
    for urn_id, scheme, path in _insert_urns.rows(tx, links):
        identity = Urn(scheme, path).identity
        uuid = uuids[identity]
        owners[identity] = UrnOwner(identity, urn_id, made[uuid], uuid, None, ACTIVE, is_new=True)
    if len(owners) < len(urns):
        raise LostRace
    return owners


_insert_contacts = insert_rows(
    contact,
    (
        *("uuid", "workspace_id", "status", "is_deleted", "fields", "open_ticket_count"),
        *("created_on", "modified_on", "last_seen_on"),
    ),
    (contact.c.uuid, contact.c.id),
)
_insert_urns = insert_rows(
    contact_urn,
    ("workspace_id", "contact_id", "scheme", "path", "display", "priority", "channel_id"),
    (contact_urn.c.id, contact_urn.c.scheme, contact_urn.c.path),
    unless_taken=("workspace_id", "scheme", "path"),
    changing=("contact_id", "priority", "channel_id"),
    only_if=contact_urn.c.contact_id.is_(None),
)
"""A URN without a contact is reused; one that another transaction took meanwhile is not returned."""


def hold_in_order(tx: Transaction, workspace_id: int, contact_ids: Iterable[int]) -> None:
    """Locks contacts that will be changed, in the order of ids as everywhere."""
    if not tx.sqlite:
        _lock_contacts.run(tx, workspace_id, sorted(contact_ids))


def prefer_channel(tx: Transaction, workspace_id: int, urn_ids: Sequence[int], channel_id: int) -> None:
    """From now on send messages to these URNs through this channel."""
    if urn_ids:
        _prefer_channel.run(tx, workspace_id, urn_ids, channel_id)


def note_seen(tx: Transaction, workspace_id: int, contact_ids: Sequence[int], *, revives: bool = True) -> None:
    """Something was just received from these contacts, which the caller has locked: updates the last-seen time. A
    message makes a stopped contact active. Where nobody looks at that before the end, PostgreSQL writes it with the
    clock, so that a contact is written once.
    """
    dependents = find_dependents(tx, workspace_id, contact_ids)
    if not (tx.sqlite or any(dependents)):
        if contact_ids:
            changes_of(tx, workspace_id).present.update(dict.fromkeys(contact_ids, revives))
        return
    change_contacts(tx, workspace_id, contact_ids, {"last_seen_on": tx.now, **(_REVIVED if revives else {})})
    follow_contacts(tx, workspace_id, contact_ids, dependents)


@statement
def _lock_contacts(workspace_id: int, ids: Sequence[int]) -> Executable:
    theirs = (beside_index(contact.c.workspace_id) == workspace_id) & among(contact.c.id, ids)
    return select(contact.c.id).where(theirs).order_by(contact.c.id).with_for_update(key_share=True)


@statement
def _prefer_channel(workspace_id: int, urn_ids: Sequence[int], channel_id: int) -> Executable:
    rows = contact_urn.c
    mine = (beside_index(rows.workspace_id) == workspace_id) & among(rows.id, urn_ids)
    return update(contact_urn).where(mine, rows.channel_id.is_distinct_from(channel_id)).values(channel_id=channel_id)


class Move(NamedTuple):
    """A number of a contact that becomes another one. `present_id` is the row of the new one, if there is one: nobody
    has it any more, or this contact has both.
    """

    urn_id: int
    contact_id: int
    old_path: str
    new_path: str
    present_id: int | None = None


def find_moves(tx: Transaction, workspace_id: int, numbers: Iterable[Any], wanted: Mapping[int, str]) -> list[Move]:
    """What becomes of numbers (rows with id, path and contact) whose new forms are `wanted`, by id. One whose new form
    another contact has stays, and so does the second one with the same new form.
    """
    rows = contact_urn.c
    mine = (rows.workspace_id == workspace_id) & (rows.scheme == "tel")
    known: dict[str, Any] = {}
    for some in split(sorted(set(wanted.values()))):
        there = select(rows.path, rows.id, rows.contact_id).where(mine, rows.path.in_(some))
        known |= {row.path: row for row in tx.execute(there)}
    moves: dict[str, Move] = {}
    for row in numbers:
        new = wanted.get(row.id)
        present = known.get(new or "")
        is_free = present is None or present.contact_id in (None, row.contact_id)
        if new is not None and new not in moves and is_free:
            moves[new] = Move(row.id, row.contact_id, row.path, new, present.id if present is not None else None)
    return list(moves.values())


def move_numbers(tx: Transaction, workspace_id: int, moves: Sequence[Move]) -> None:
    """Gives contacts their new numbers, each at the place and for the channel of the old one. Raises LostRace if an old
    one was changed, or a new one taken, meanwhile.
    """
    rows = contact_urn.c
    mine = rows.workspace_id == workspace_id
    renaming = update(contact_urn).where(mine, rows.id == bindparam("urn_id")).values(path=bindparam("new_path"))
    columns = (rows.id, rows.path, rows.contact_id, rows.priority, rows.channel_id, rows.display)
    for some in split(moves):
        ids = {each.urn_id for each in some} | {each.present_id for each in some if each.present_id is not None}
        these = select(*columns).where(mine, rows.id.in_(ids)).order_by(rows.id).with_for_update()
        held = {row.id: row for row in tx.execute(these)}
        for each in some:
            before = held.get(each.urn_id)
            if before is None or (before.path, before.contact_id) != (each.old_path, each.contact_id):
                raise LostRace
        renamed = [{"urn_id": each.urn_id, "new_path": each.new_path} for each in some if each.present_id is None]
        if renamed:
            tx.execute(renaming, renamed)
        _take_over(tx, workspace_id, [each for each in some if each.present_id is not None], held)


def _take_over(tx: Transaction, workspace_id: int, moves: Sequence[Move], held: Mapping[int, Any]) -> None:
    """Numbers whose new form has a row: the contact gets that one, and the old one becomes free."""
    if not moves:
        return
    given = []
    for each in moves:
        present, before = held[each.present_id or 0], held[each.urn_id]
        if present.contact_id not in (None, each.contact_id):
            raise LostRace
        has_both = present.contact_id is not None
        values = {
            "contact_id": each.contact_id,
            "priority": min(before.priority, present.priority) if has_both else before.priority,
            "channel_id": (present.channel_id if has_both else None) or before.channel_id,
            "display": (present.display if has_both else None) or before.display,
        }
        given.append({"urn_id": each.present_id, **{f"new_{name}": value for name, value in values.items()}})
    rows = contact_urn.c
    mine = rows.workspace_id == workspace_id
    names = ("contact_id", "priority", "channel_id", "display")
    giving = update(contact_urn).where(mine, rows.id == bindparam("urn_id"))
    tx.execute(giving.values({name: bindparam(f"new_{name}") for name in names}), given)
    tx.execute(update(contact_urn).where(mine, rows.id.in_([each.urn_id for each in moves])).values(**FREED))


def normalize_numbers(tx: Transaction, workspace_id: int, country: str) -> int:
    """Bring numbers without `+` to E.164 form with the country; a number that another contact has is not changed.
    Returns how many changed. A few statements for a thousand of them.
    """
    rows = contact_urn.c
    mine = (rows.workspace_id == workspace_id) & (rows.scheme == "tel") & rows.contact_id.is_not(None)
    local = tx.execute(select(rows.id, rows.path, rows.contact_id).where(mine, ~rows.path.startswith("+"))).all()
    wanted = {urn_id: normalize_number(path, country) for urn_id, path, _ in local}
    moves = find_moves(
        tx, workspace_id, local, {urn_id: path for urn_id, path in wanted.items() if path.startswith("+")}
    )
    if moves:
        move_numbers(tx, workspace_id, moves)
        change_contacts(tx, workspace_id, {each.contact_id for each in moves})
    return len(moves)
