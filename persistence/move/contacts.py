"""Writes contacts of another server in bulk: a number of statements for each thousand, whatever they contain."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import and_, bindparam, delete, insert, or_, select

from flows.urns import URN_LENGTH_MAX, Urn, UrnError, read_urn
from persistence.campaigns.fires import schedule_contacts
from persistence.changes import change_contacts, change_each_contact
from persistence.contacts.owners import is_one_of
from persistence.contacts.urns import FREED, LEVELS, read_place_values, read_value
from persistence.database import Transaction
from persistence.groups.smart_groups import refresh_contacts
from persistence.move.moves import CONTACT, GROUP, Move, Moved, Record, are_moved, find_carried, keep_moved
from persistence.sql.columns import is_uuid, split
from persistence.statements import update
from persistence.tables.contacts import ACTIVE, contact, contact_urn, group, group_membership
from persistence.tables.contacts import field as field_table

Address = tuple[str, str]
NAME_LENGTH = 128
KEPT = ("name", "language", "status", "fields", "created_on", "last_seen_on")
PLACES = "import the boundaries, and run the command again"
NO_GROUP = "one of its groups is not here"
MERGED = "merged with the contact here that already had its URN"


@dataclass(slots=True)
class _Chunk:
    """Contacts that are written together: their ids here by their UUIDs there, and what was lost of each."""

    move: Move
    records: Sequence[Record]
    ids: dict[str, int] = field(default_factory=dict)
    new: set[str] = field(default_factory=set)
    notes: dict[str, list[str]] = field(default_factory=dict)
    urns: dict[str, list[Urn]] = field(default_factory=dict)
    changed: set[int] = field(default_factory=set)

    def note(self, reference: str, sentence: str) -> None:
        self.notes.setdefault(reference, []).append(sentence)


def write_contacts(tx: Transaction, move: Move, records: Sequence[Record], *, is_first: bool) -> None:
    """Creates these contacts, or changes them to what they are now on the other side. Groups with queries and campaigns
    follow at once, unless this is the first pass, at whose end they are evaluated together.
    """
    records = [each for each in {each["reference"]: each for each in records}.values() if is_uuid(each["reference"])]
    chunk = _Chunk(move, records)
    _read_urns(chunk)
    chunk.ids.update(find_carried(tx, move, CONTACT, [each["reference"] for each in records]))
    owners = _find_owners(tx, chunk)
    _find_present(tx, chunk, owners)
    _store(tx, chunk, _read_fields(tx, chunk))
    _store_urns(tx, chunk, owners)
    _store_groups(tx, chunk)
    keep_moved(
        tx,
        move,
        CONTACT,
        [
            Moved(uuid, chunk.ids[uuid], uuid, "; ".join(chunk.notes[uuid]) if uuid in chunk.notes else None)
            for uuid in (each["reference"] for each in records)
        ],
    )
    new_ids = {chunk.ids[uuid] for uuid in chunk.new}
    for some in split(sorted(chunk.changed - new_ids)):
        change_contacts(tx, move.workspace.id, some)
    if chunk.changed and not is_first:
        refresh_contacts(tx, move.workspace, sorted(chunk.changed))
        schedule_contacts(tx, move.workspace.id, sorted(chunk.changed))


def _read_urns(chunk: _Chunk) -> None:
    for each in chunk.records:
        found: dict[Address, Urn] = {}
        for text in each["urns"]:
            try:
                urn = read_urn(text, lenient=True, path_length=URN_LENGTH_MAX)
            except UrnError as error:
                chunk.note(each["reference"], f"a URN of the scheme {text.partition(':')[0]}: {error}")
                continue
            found.setdefault((urn.scheme, urn.path), urn)
        chunk.urns[each["reference"]] = list(found.values())
        if each["bad_language"]:
            chunk.note(each["reference"], f"the language {each['bad_language'][:8]} is not known")


def _find_owners(tx: Transaction, chunk: _Chunk) -> dict[Address, tuple[int, int | None]]:
    """The rows of all these URNs that are here, and whose they are."""
    rows = contact_urn.c
    found: dict[Address, tuple[int, int | None]] = {}
    for some in split([urn for urns in chunk.urns.values() for urn in urns]):
        mine = (rows.workspace_id == chunk.move.workspace.id) & is_one_of(some)
        for urn_id, scheme, path, owner in tx.execute(
            select(rows.id, rows.scheme, rows.path, rows.contact_id).where(mine)
        ):
            found[scheme, path] = (urn_id, owner)
    return found


def _find_present(tx: Transaction, chunk: _Chunk, owners: Mapping[Address, tuple[int, int | None]]) -> None:
    """Finds contacts that nobody has looked at: by UUID, otherwise by a URN of somebody who was here before the
    move."""
    unknown = [each["reference"] for each in chunk.records if each["reference"] not in chunk.ids]
    if not unknown:
        return
    workspace_id = chunk.move.workspace.id
    for some in split(unknown):
        mine = (contact.c.workspace_id == workspace_id) & contact.c.uuid.in_(some) & ~contact.c.is_deleted
        chunk.ids.update(
            (uuid, number) for uuid, number in tx.execute(select(contact.c.uuid, contact.c.id).where(mine))
        )
    present = {owner for _, owner in owners.values() if owner is not None}
    free = present - are_moved(tx, chunk.move, CONTACT, present) - set(chunk.ids.values())
    for uuid in unknown:
        if uuid in chunk.ids:
            continue
        theirs = [owners.get((urn.scheme, urn.path), (0, None))[1] for urn in chunk.urns[uuid]]
        owner = next((each for each in theirs if each in free), None)
        if owner is None:
            chunk.new.add(uuid)
        else:
            free.discard(owner)
            chunk.ids[uuid] = owner
            chunk.note(uuid, MERGED)


def _read_fields(tx: Transaction, chunk: _Chunk) -> dict[str, dict[str, Any]]:
    """The values of each contact as they are stored."""
    workspace = chunk.move.workspace
    mine = field_table.c.workspace_id == workspace.id
    known = {
        key: (uuid, kind)
        for uuid, key, kind in tx.execute(select(field_table.c.uuid, field_table.c.key, field_table.c.type).where(mine))
    }
    kinds = dict(known.values())
    read: dict[str, Any] = {}
    found = {}
    for each in chunk.records:
        values = {}
        for key, text in each["fields"].items():
            if key not in known:
                chunk.note(each["reference"], f"there is no field {key[:36]} here")
                continue
            if text not in read:
                read[text] = read_value(workspace, text, tx.now)
            values[known[key][0]] = read[text]
        if any(kinds[uuid] in LEVELS for uuid in values):
            values = read_place_values(tx, workspace, {}, values, kinds)
            for key in each["fields"]:
                uuid, kind = known.get(key, ("", ""))
                if kind in LEVELS and kind not in (values.get(uuid) or {}):
                    chunk.note(each["reference"], f"its {kind} {key[:36]} is no place that is known here: {PLACES}")
        found[each["reference"]] = {uuid: value for uuid, value in values.items() if value is not None}
    return found


def _store(tx: Transaction, chunk: _Chunk, fields: Mapping[str, dict[str, Any]]) -> None:
    """Inserts new contacts with the times that they have there; changed ones get our own time of change."""
    workspace_id = chunk.move.workspace.id
    wanted = {each["reference"]: _row(tx, each, fields[each["reference"]]) for each in chunk.records}
    by_uuid = {each["reference"]: each for each in chunk.records}
    rows = [
        {
            **wanted[uuid],
            "uuid": uuid,
            "workspace_id": workspace_id,
            "is_deleted": False,
            "open_ticket_count": 0,
            "modified_on": by_uuid[uuid]["modified_on"] or tx.now,
        }
        for uuid in wanted
        if uuid in chunk.new
    ]
    if rows:
        made = tx.execute(insert(contact).returning(contact.c.uuid, contact.c.id), rows)
        chunk.ids.update((uuid, number) for uuid, number in made)
    _change(tx, chunk, {chunk.ids[uuid]: row for uuid, row in wanted.items() if uuid not in chunk.new})
    chunk.changed.update(chunk.ids[uuid] for uuid in chunk.new)


def _row(tx: Transaction, record: Record, values: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": record["name"][:NAME_LENGTH] if record["name"] else None,
        "language": record["language"],
        "status": record["status"],
        "fields": values,
        "created_on": record["created_on"] or tx.now,
        "last_seen_on": record["last_seen_on"],
    }


def _change(tx: Transaction, chunk: _Chunk, wanted: Mapping[int, dict[str, Any]]) -> None:
    workspace_id = chunk.move.workspace.id
    columns = [contact.c[name] for name in KEPT]
    rows = {}
    for some in split(sorted(wanted)):
        mine = (contact.c.workspace_id == workspace_id) & contact.c.id.in_(some)
        held = select(contact.c.id, *columns).where(mine).order_by(contact.c.id).with_for_update()
        for row in tx.execute(held):
            new = wanted[row.id]
            if row.last_seen_on is not None and (new["last_seen_on"] is None or row.last_seen_on > new["last_seen_on"]):
                new = {**new, "last_seen_on": row.last_seen_on}
            if any(getattr(row, name) != new[name] for name in KEPT):
                rows[row.id] = {name: new[name] for name in KEPT}
    change_each_contact(tx, workspace_id, rows)
    chunk.changed.update(rows)


def _store_urns(tx: Transaction, chunk: _Chunk, owners: Mapping[Address, tuple[int, int | None]]) -> None:
    """Gives each contact its URNs in their order. One that belongs to somebody who was here before the move stays."""
    workspace_id, rows = chunk.move.workspace.id, contact_urn.c
    ours = set(chunk.ids.values())
    others = {owner for _, owner in owners.values() if owner is not None} - ours
    moved = are_moved(tx, chunk.move, CONTACT, others)
    made: list[dict[str, Any]] = []
    changed: list[dict[str, Any]] = []
    kept: set[int] = set()
    for uuid, urns in chunk.urns.items():
        for priority, urn in enumerate(urns):
            urn_id, owner = owners.get((urn.scheme, urn.path), (None, None))
            if owner is not None and owner not in ours and owner not in moved:
                chunk.note(uuid, f"a URN of the scheme {urn.scheme} belongs to another contact here")
                continue
            values = {"contact_id": chunk.ids[uuid], "priority": priority, "display": urn.display or None}
            address = {"workspace_id": workspace_id, "scheme": urn.scheme, "path": urn.path}
            if urn_id is None:
                made.append({**address, **values})
            else:
                kept.add(urn_id)
                changed.append(
                    {"owner": workspace_id, "wanted_id": urn_id, **{f"new_{k}": v for k, v in values.items()}}
                )
    _free_others(tx, chunk, kept)
    changed = _differing(tx, changed)
    chunk.changed.update(row["new_contact_id"] for row in changed)
    chunk.changed.update(owner for row in changed if (owner := row.pop("former")) is not None)
    chunk.changed.update(row["contact_id"] for row in made)
    if changed:
        mine = (rows.workspace_id == bindparam("owner")) & (rows.id == bindparam("wanted_id"))
        new: dict[str, Any] = {name: bindparam(f"new_{name}") for name in ("contact_id", "priority", "display")}
        tx.execute(update(contact_urn).where(mine).values(**new), changed)
    if made:
        tx.execute(insert(contact_urn), list({(row["scheme"], row["path"]): row for row in reversed(made)}.values()))


def _differing(tx: Transaction, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of these rows of URNs that are not so already, with the contact who has the URN as `former`."""
    columns, found = contact_urn.c, []
    for some in split(rows):
        named = (columns.workspace_id == some[0]["owner"]) & columns.id.in_([row["wanted_id"] for row in some])
        stored = select(columns.id, columns.contact_id, columns.priority, columns.display).where(named)
        present = {each.id: each for each in tx.execute(stored)}
        for row in some:
            now = present[row["wanted_id"]]
            if (now.contact_id, now.priority, now.display) != (
                row["new_contact_id"],
                row["new_priority"],
                row["new_display"],
            ):
                found.append({**row, "former": now.contact_id})
    return found


def _free_others(tx: Transaction, chunk: _Chunk, kept: set[int]) -> None:
    """Contacts that were here already lose the URNs that they no longer have there, unless they were merged."""
    rows = contact_urn.c
    present = [
        number
        for uuid, number in chunk.ids.items()
        if uuid not in chunk.new and MERGED not in chunk.notes.get(uuid, ())
    ]
    for some in split(sorted(present)):
        theirs = (rows.workspace_id == chunk.move.workspace.id) & rows.contact_id.in_(some)
        held: dict[int, Any] = {
            number: owner for number, owner in tx.execute(select(rows.id, rows.contact_id).where(theirs))
        }
        lost = sorted(held.keys() - kept)
        if lost:
            gone = (rows.workspace_id == chunk.move.workspace.id) & rows.id.in_(lost)
            tx.execute(update(contact_urn).where(gone).values(**FREED))
            chunk.changed.update(held[number] for number in lost)


def _store_groups(tx: Transaction, chunk: _Chunk) -> None:
    """Memberships of the groups without queries; those with a query find their members themselves."""
    workspace_id, rows = chunk.move.workspace.id, group_membership.c
    known = find_carried(tx, chunk.move, GROUP, {uuid for each in chunk.records for uuid in each["groups"]})
    told = {*known, *chunk.move.state.get("system_groups", ())}
    for each in chunk.records:
        if not told.issuperset(each["groups"]):
            chunk.note(each["reference"], NO_GROUP)
    manual = (group.c.workspace_id == workspace_id) & group.c.query.is_(None) & ~group.c.is_system
    manual_ids = set(tx.execute(select(group.c.id).where(manual)).scalars())
    wanted = set()
    for each in chunk.records:
        if each["status"] != ACTIVE:
            continue
        ids = {known[uuid] for uuid in each["groups"] if uuid in known} & manual_ids
        wanted |= {(group_id, chunk.ids[each["reference"]]) for group_id in ids}
    present = set()
    known_ids = sorted(chunk.ids[uuid] for uuid in chunk.ids if uuid not in chunk.new)
    for some in split(known_ids):
        theirs = (rows.workspace_id == workspace_id) & rows.contact_id.in_(some) & rows.group_id.in_(manual_ids)
        present |= {
            (group_id, member) for group_id, member in tx.execute(select(rows.group_id, rows.contact_id).where(theirs))
        }
    added, removed = sorted(wanted - present), sorted(present - wanted)
    names = ("group_id", "contact_id")
    if added:
        links = [{"workspace_id": workspace_id, **dict(zip(names, pair, strict=True))} for pair in added]
        tx.execute(insert(group_membership), links)
    for gone in split(removed):
        pairs = or_(*(and_(rows.group_id == group_id, rows.contact_id == member) for group_id, member in gone))
        tx.execute(delete(group_membership).where(rows.workspace_id == workspace_id, pairs))
    chunk.changed |= {member for _, member in (*added, *removed)}
    change = Counter(group_id for group_id, _ in added)
    change.subtract(group_id for group_id, _ in removed)
    for group_id, number in sorted(change.items()):
        mine = (group.c.workspace_id == workspace_id) & (group.c.id == group_id)
        tx.execute(update(group).where(mine).values(member_count=group.c.member_count + number))


def forget_missing(tx: Transaction, move: Move, uuids: Sequence[str]) -> None:
    """Remembers that these contacts are not on the other side any more."""
    keep_moved(tx, move, CONTACT, [Moved(uuid, None, uuid, "was deleted there") for uuid in uuids])
