"""Contacts by URN: finds the owners of URNs, and creates contacts for new URNs."""

from collections.abc import Container, Iterable, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Executable, bindparam, case, select, update

from flows.phones import normalize_number
from flows.urns import Urn
from persistence.changes import note_present
from persistence.contacts.owners import UrnOwner, hold_owners
from persistence.database import Transaction
from persistence.errors import LostRace
from persistence.groups.smart_groups import find_followers, follow_contacts, follow_new
from persistence.sql.columns import UtcDateTime, new_uuid, split
from persistence.sql.fixed_statements import Fixed, among, param
from persistence.sql.index_choice import beside_index
from persistence.sql.listed_rows import ROWS, inserting
from persistence.stamps import stamped
from persistence.tables.contacts import ACTIVE, STOPPED, contact, contact_urn

FIRST_PRIORITY = 0


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
    made = dict(_CREATING.rows(tx, {ROWS: values}))
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
    for urn_id, scheme, path in _LINKING.rows(tx, {ROWS: links}):
        identity = Urn(scheme, path).identity
        uuid = uuids[identity]
        owners[identity] = UrnOwner(identity, urn_id, made[uuid], uuid, None, ACTIVE, is_new=True)
    if len(owners) < len(urns):
        raise LostRace
    return owners


_CREATING = inserting(
    contact,
    (
        *("uuid", "workspace_id", "status", "is_deleted", "fields", "open_ticket_count"),
        *("created_on", "modified_on", "last_seen_on"),
    ),
    (contact.c.uuid, contact.c.id),
)
_LINKING = inserting(
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
        _HOLDING.run_later(tx, {"owner": workspace_id, "theirs": sorted(contact_ids)})


def prefer_channel(tx: Transaction, workspace_id: int, urn_ids: Sequence[int], channel_id: int) -> None:
    """From now on send messages to these URNs through this channel."""
    if urn_ids:
        _PREFERRING.run_later(tx, {"owner": workspace_id, "urns": urn_ids, "channel": channel_id})


def note_seen(tx: Transaction, workspace_id: int, contact_ids: Sequence[int], *, revives: bool = True) -> None:
    """Something was just received from these contacts, which the caller has locked: updates the last-seen time. A
    message makes a stopped contact active. Where nobody looks at that before the end, PostgreSQL writes it with the
    clock, so that a contact is written once.
    """
    followers = find_followers(tx, workspace_id, contact_ids)
    if not (tx.sqlite or any(followers)):
        note_present(tx, workspace_id, dict.fromkeys(contact_ids, revives))
        return
    moment = stamped(tx, contact, workspace_id)
    values = {"owner": workspace_id, "theirs": contact_ids, "now": tx.now, "moment": moment}
    _SEEING[revives].run_later(tx, values)
    follow_contacts(tx, workspace_id, contact_ids, followers)


_THEIRS = (beside_index(contact.c.workspace_id) == param("owner")) & among(contact.c.id, "theirs")


def _hold(_is_sqlite: bool) -> Executable:
    return select(contact.c.id).where(_THEIRS).order_by(contact.c.id).with_for_update(key_share=True)


def _prefer(_is_sqlite: bool) -> Executable:
    rows = contact_urn.c
    mine = (beside_index(rows.workspace_id) == param("owner")) & among(rows.id, "urns")
    changed = rows.channel_id.is_distinct_from(param("channel"))
    return update(contact_urn).where(mine, changed).values(channel_id=param("channel"))


def _see(_is_sqlite: bool, *, revives: bool) -> Executable:
    seen: dict[str, Any] = {"last_seen_on": param("now", UtcDateTime), "modified_on": param("moment", UtcDateTime)}
    if revives:
        seen["status"] = case((contact.c.status == STOPPED, ACTIVE), else_=contact.c.status)
    return update(contact).where(_THEIRS).values(**seen)


_HOLDING, _PREFERRING = Fixed(_hold), Fixed(_prefer)
_SEEING = {revives: Fixed(partial(_see, revives=revives)) for revives in (False, True)}


def normalize_numbers(tx: Transaction, workspace_id: int, country: str) -> int:
    """Bring numbers without `+` to E.164 form with the country; a number that another contact has is not changed.
    Returns how many changed. Two or three statements for any number of them.
    """
    rows = contact_urn.c
    mine = (rows.workspace_id == workspace_id) & (rows.scheme == "tel")
    local = tx.execute(select(rows.id, rows.path, rows.contact_id).where(mine, ~rows.path.startswith("+"))).all()
    wanted = {urn_id: normalize_number(path, country) for urn_id, path, _ in local}
    changed = {urn_id: path for urn_id, path in wanted.items() if path.startswith("+")}
    if not changed:
        return 0
    taken = set(tx.execute(select(rows.path).where(mine, rows.path.in_(set(changed.values())))).scalars())
    moves = []
    for urn_id, path in changed.items():
        if path not in taken:
            taken.add(path)
            moves.append({"urn_id": urn_id, "new_path": path})
    if moves:
        statement = update(contact_urn).where(rows.id == bindparam("urn_id")).values(path=bindparam("new_path"))
        tx.execute(statement, moves)
        moved = {move["urn_id"] for move in moves}
        for some in split(sorted({row.contact_id for row in local if row.id in moved and row.contact_id})):
            theirs = (contact.c.workspace_id == workspace_id) & contact.c.id.in_(some)
            tx.execute(update(contact).where(theirs).values(modified_on=stamped(tx, contact, workspace_id)))
    return len(moves)
