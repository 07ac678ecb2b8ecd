"""Contacts by URN: finds the owners of URNs, and creates contacts for new URNs."""

from collections.abc import Iterable, Sequence

from sqlalchemy import bindparam, case, insert, select, update

from flows.phones import normalize_number
from flows.urns import Urn
from persistence.contacts.owners import UrnOwner, find_owners, hold_owners, is_one_of
from persistence.database import Transaction
from persistence.groups.smart_groups import follow_contacts
from persistence.sql.columns import new_uuid
from persistence.stamps import stamped
from persistence.tables.contacts import ACTIVE, contact, contact_urn
from persistence.touches import ADDRESS, note_renamed

FIRST_PRIORITY = 0


def ensure_owners(
    tx: Transaction,
    workspace_id: int,
    urns: Iterable[Urn],
    *,
    channel_id: int | None = None,
    beside: Sequence[int] = (),
    changes: bool = False,
) -> dict[str, UrnOwner]:
    """The owner of every URN; an active contact is created for each URN without an owner. A constant number of
    statements. Owners and the contacts `beside` are locked as by `hold_owners`. If another transaction creates the same
    contact first, this raises IntegrityError, and if one moves a URN, LostRace: run it by `Database.write`.
    """
    wanted = list({urn.identity: urn for urn in urns}.values())
    owners = hold_owners(tx, workspace_id, wanted, beside, changes=changes)
    missing = [urn for urn in wanted if urn.identity not in owners]
    if missing:
        _create_contacts(tx, workspace_id, missing, channel_id)
        owners |= find_owners(tx, workspace_id, missing)
        follow_contacts(tx, workspace_id, [owners[urn.identity].contact_id for urn in missing])
    return owners


def _create_contacts(tx: Transaction, workspace_id: int, urns: Sequence[Urn], channel_id: int | None) -> None:
    moment = stamped(tx, contact, workspace_id)
    values = [
        {
            "uuid": new_uuid(),
            "workspace_id": workspace_id,
            "fields": {},
            "created_on": tx.now,
            "modified_on": moment,
        }
        for _ in urns
    ]
    tx.execute(insert(contact), values)
    uuids = [str(row["uuid"]) for row in values]
    rows = tx.execute(select(contact.c.uuid, contact.c.id).where(contact.c.uuid.in_(uuids)))
    made = {uuid: contact_id for uuid, contact_id in rows}
    contact_ids = {urn.identity: made[uuid] for urn, uuid in zip(urns, uuids, strict=True)}
    _adopt_free(tx, workspace_id, contact_ids, urns, channel_id)


def _adopt_free(
    tx: Transaction, workspace_id: int, contact_ids: dict[str, int], urns: Sequence[Urn], channel_id: int | None
) -> None:
    """Link URNs to their new contacts; an existing URN without a contact is reused."""
    rows = contact_urn.c
    is_free = (rows.workspace_id == workspace_id) & rows.contact_id.is_(None) & is_one_of(urns)
    taken = set()
    for urn_id, scheme, path in tx.execute(select(rows.id, rows.scheme, rows.path).where(is_free)).all():
        identity = Urn(scheme, path).identity
        taken.add(identity)
        values = {"contact_id": contact_ids[identity], "priority": FIRST_PRIORITY, "channel_id": channel_id}
        tx.execute(update(contact_urn).where(rows.id == urn_id, rows.workspace_id == workspace_id).values(**values))
    new = [
        {
            "workspace_id": workspace_id,
            "contact_id": contact_ids[urn.identity],
            "scheme": urn.scheme,
            "path": urn.path,
            "display": urn.display or None,
            "priority": FIRST_PRIORITY,
            "channel_id": channel_id,
        }
        for urn in urns
        if urn.identity not in taken
    ]
    if new:
        tx.execute(insert(contact_urn), new)


def hold_in_order(tx: Transaction, workspace_id: int, contact_ids: Iterable[int]) -> None:
    """Locks contacts that will be changed, in the order of ids as everywhere."""
    if not tx.sqlite:
        mine = (contact.c.workspace_id == workspace_id) & contact.c.id.in_(sorted(contact_ids))
        tx.execute(select(contact.c.id).where(mine).order_by(contact.c.id).with_for_update(key_share=True))


def prefer_channel(tx: Transaction, workspace_id: int, urn_ids: Sequence[int], channel_id: int) -> None:
    """From now on send messages to these URNs through this channel."""
    rows = contact_urn.c
    mine = (rows.workspace_id == workspace_id) & rows.id.in_(urn_ids)
    changed = rows.channel_id.is_distinct_from(channel_id)
    tx.execute(update(contact_urn).where(mine, changed).values(channel_id=channel_id))


def note_seen(tx: Transaction, workspace_id: int, contact_ids: Sequence[int], *, revives: bool = True) -> None:
    """Something was just received from these contacts: updates the last-seen time. A message makes a stopped contact
    active."""
    mine = (contact.c.workspace_id == workspace_id) & contact.c.id.in_(contact_ids)
    revived = case((contact.c.status == "stopped", ACTIVE), else_=contact.c.status) if revives else contact.c.status
    moment = stamped(tx, contact, workspace_id)
    tx.execute(update(contact).where(mine).values(last_seen_on=tx.now, modified_on=moment, status=revived))
    follow_contacts(tx, workspace_id, contact_ids)


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
        note_renamed(tx, workspace_id, ADDRESS, {row.contact_id for row in local if row.id in moved and row.contact_id})
    return len(moves)
