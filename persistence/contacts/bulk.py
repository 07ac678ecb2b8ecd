"""Many contacts at once: they are created and changed with the rules of one contact, and the bulk actions of v1 and v2
are performed on them. A chunk of rows takes a constant number of statements. Rows that break a rule are rejected, each
with its reason; the others are written.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, bindparam, func, insert, literal, select

from flows.environment import Environment
from flows.urns import Urn
from persistence.changes import (
    change_contacts,
    change_each_contact,
    differs,
    hold_messages,
    move_messages,
)
from persistence.contacts.owners import explain_urn, find_urns, hold_owners, is_one_of
from persistence.contacts.urns import LEVELS, VALUE_LENGTH, Places, Value, load_places, read_value
from persistence.contacts.writes import TAKEN_URN, URNS_LIMIT
from persistence.database import Transaction
from persistence.errors import InvalidInput, LostRace
from persistence.fields import find_fields
from persistence.groups.groups import add_members, find_joinable, hold_contacts, leave_all_groups, remove_members
from persistence.groups.smart_groups import follow_contacts, refresh_contacts
from persistence.lists import stamped_on
from persistence.messages.outgoing import fail_waiting
from persistence.runs.runs import EXPIRED
from persistence.sessions.sessions import interrupt_contacts as interrupt_sessions
from persistence.sql.columns import is_uuid, new_uuid, split
from persistence.sql.names import find_ids, read_language
from persistence.stamps import CONTACT_CREATED, stamped, tell
from persistence.statements import update
from persistence.tables.contacts import ACTIVE, BLOCKED, contact, contact_urn
from persistence.tables.messages import ARCHIVED, INCOMING, VISIBLE, message
from persistence.workspaces.records import Workspace, find_workspace

CREATED, UPDATED, REJECTED = "created", "updated", "rejected"
NAME_LENGTH = 64

UNNAMED = "A row needs a UUID or a URN."
UNKNOWN_UUID = "No contact has this UUID."
TWO_CONTACTS = "The URNs of this row belong to different contacts."
HIDDEN_URNS = "URNs cannot be changed in an anonymous workspace."
NOT_ACTIVE = "Only active contacts can be in groups."
CELL_ERROR = re.compile(r"#(?:N/A|REF!|VALUE!|NAME\?|DIV/0!|NULL!|NUM!|SPILL!|CALC!)\Z")
"""What a spreadsheet shows in place of a value."""
BAD_TEXT = "The character with the code 0 is not allowed."


class Period(NamedTuple):
    """After a time of the workspace's clock, and up to another one."""

    after: datetime
    until: datetime | None = None

    def holds(self, moment: ColumnElement[datetime]) -> list[ColumnElement[bool]]:
        return [moment > self.after, *([] if self.until is None else [moment <= self.until])]


class RowRejected(ValueError):
    """A row breaks a rule. `place` is what of it does, in the words of the API; empty for the row as a whole."""

    def __init__(self, reason: str, place: str = "") -> None:
        super().__init__(reason)
        self.place = place


_IS_NEW_STATUS, _IS_BLOCKED = differs(contact.c.status), contact.c.status == literal(BLOCKED)


@dataclass(frozen=True, slots=True)
class ContactRow:
    """What a row says about a contact. None means that it says nothing; an empty `name`, `language` or value of a
    field clears. `fields` are texts by key; `urns` are added to those that the contact has, and `groups`, by UUID or
    name, are joined."""

    number: int
    uuid: str | None = None
    name: str | None = None
    language: str | None = None
    urns: Sequence[str] = ()
    fields: Mapping[str, str | None] = field(default_factory=dict)
    groups: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a row; `reason` says why it was rejected, and `place` what of it is wrong. `unread` are values
    that the types of their fields do not understand, with the keys of these; they are stored as texts. `changes` is
    what the row changed, as `persistence.tables.data_jobs.imported_contact` keeps it; None if it changed nothing.
    """

    number: int
    result: str
    reason: str = ""
    contact_id: int | None = None
    unread: Sequence[tuple[str, str]] = ()
    changes: Mapping[str, Any] | None = None
    place: str = ""


@dataclass(slots=True)
class _Read:
    """A row that was read: its values as they are stored, and the contact that it means, None for a new one."""

    row: ContactRow
    urns: list[Urn]
    language: str | None
    group_ids: Sequence[int]
    contact_id: int | None = None
    values: dict[str, Value] = field(default_factory=dict)
    unread: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Reading:
    """How values are read: with the formats of an environment, that of the workspace if none is given; and whether a
    row is rejected for a value that the type of its field does not understand."""

    environment: Environment | None = None
    refuses_unread: bool = False


def write_contacts(
    tx: Transaction,
    workspace: Workspace,
    rows: Sequence[ContactRow],
    group_ids: Sequence[int] = (),
    reading: Reading = Reading(),
) -> list[Outcome]:
    """Create or change the contacts of rows, in their order, and add them to manual groups. A row means the contact
    with its UUID, otherwise the owner of one of its URNs, otherwise a new contact. Run it by `Database.write`: raises
    LostRace and IntegrityError if others take the same URNs meanwhile.
    """
    outcomes: dict[int, Outcome] = {}
    rest = _read_rows(tx, workspace, rows, group_ids, outcomes)
    values = _Values.load(tx, workspace, rows, reading)
    while rest:
        # A contact that two rows name is written twice, one row after the other.
        some, rest = _before_repeat(rest)
        rest = _write_some(tx, workspace, some, values, outcomes) + rest
    return [outcomes[row.number] for row in rows]


@dataclass(frozen=True, slots=True)
class _Values:
    """The fields that rows name, by key, and the boundaries if one of them holds places."""

    workspace: Workspace
    known: Mapping[str, tuple[str, str, str]]
    places: Places | None
    reading: Reading

    @classmethod
    def load(cls, tx: Transaction, workspace: Workspace, rows: Sequence[ContactRow], reading: Reading) -> "_Values":
        known = find_fields(tx, workspace.id, sorted({key for row in rows for key in row.fields}))
        has_places = any(kind in LEVELS for _, kind, _ in known.values())
        return cls(workspace, known, load_places(tx, workspace) if has_places else None, reading)

    def read(
        self, tx: Transaction, row: ContactRow, stored: Mapping[str, Any]
    ) -> tuple[dict[str, Value], list[tuple[str, str]]]:
        """The values of a row by the UUID of their field, and those that are not understood by key. Raises RowRejected
        for a key that no field has, a value that is too long, and one that is not understood if that is a reason.
        """
        values: dict[str, Value] = {}
        kinds: dict[str, str] = {}
        keys: dict[str, str] = {}
        for key, text in row.fields.items():
            if key not in self.known:
                raise RowRejected(f'No contact field "{key[:36]}".', "fields")
            uuid, kind, _ = self.known[key]
            if len((text or "").strip()) > VALUE_LENGTH:
                raise RowRejected(f"{key}: At most {VALUE_LENGTH} characters.", "fields")
            values[uuid] = read_value(self.workspace, text, tx.now, self.reading.environment)
            kinds[uuid], keys[uuid] = kind, key
        found = values if self.places is None else self.places.read(stored, values, kinds)
        unread = [
            (keys[uuid], value["text"])
            for uuid, value in found.items()
            if value is not None and self._is_unread(kinds[uuid], value)
        ]
        if unread and self.reading.refuses_unread:
            key, text = unread[0]
            raise RowRejected(f'{key}: "{text[:64]}" is not understood.', "fields")
        return found, unread

    def _is_unread(self, kind: str, value: Mapping[str, Any]) -> bool:
        """Without boundaries nobody knows which places there are."""
        if CELL_ERROR.match(value["text"]):
            return True
        is_known = kind == "text" or (kind in LEVELS and self.places is None)
        return not is_known and kind not in value


def join_group(tx: Transaction, workspace_id: int, contact_ids: Sequence[int], group_id: int) -> list[int]:
    """Add contacts to a manual group; returns those that were not in it. Raises InvalidInput if one of them is not
    active; then none is added.
    """
    statuses = hold_contacts(tx, workspace_id, contact_ids)
    if any(status != ACTIVE for status in statuses):
        raise InvalidInput.across("Only active contacts can be in groups.")
    return add_members(tx, workspace_id, group_id, contact_ids)


def leave_group(tx: Transaction, workspace_id: int, contact_ids: Sequence[int], group_id: int) -> list[int]:
    """Remove contacts from a manual group; returns those that were in it."""
    hold_contacts(tx, workspace_id, contact_ids)
    return remove_members(tx, workspace_id, group_id, contact_ids)


def block_contacts(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Block contacts: they leave all groups and flows, their messages are dropped, and nothing is sent to them. Queued
    messages to them fail.
    """
    interrupt_contacts(tx, workspace_id, contact_ids)
    change_contacts(tx, workspace_id, contact_ids, {"status": BLOCKED}, only=_IS_NEW_STATUS)
    fail_waiting(tx, workspace_id, contact_ids)
    leave_all_groups(tx, workspace_id, contact_ids)


def unblock_contacts(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Make blocked contacts active again and add them to their smart groups; manual groups are not restored."""
    change_contacts(tx, workspace_id, contact_ids, {"status": ACTIVE}, only=_IS_BLOCKED)
    workspace = find_workspace(tx, workspace_id)
    if workspace is not None:
        refresh_contacts(tx, workspace, contact_ids)


def interrupt_contacts(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Interrupt the flow in which contacts wait; a running sprint of one of them is not recorded."""
    interrupt_sessions(tx, workspace_id, contact_ids, ends_leases=True)


def expire_contacts(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """`interrupt_contacts` for v1, where the runs end as expired."""
    interrupt_sessions(tx, workspace_id, contact_ids, status=EXPIRED, ends_leases=True)


def archive_messages_of(
    tx: Transaction, workspace_id: int, contact_ids: Sequence[int], changed: Period | None = None
) -> list[int]:
    """Archive the visible incoming messages of these contacts, all or those that changed within a period; labels no
    longer count them. Returns the contacts that had some.
    """
    return _move_messages_of(tx, workspace_id, contact_ids, (VISIBLE, ARCHIVED), changed)


def restore_messages_of(
    tx: Transaction, workspace_id: int, contact_ids: Sequence[int], changed: Period | None = None
) -> list[int]:
    """The reverse: archived messages are visible again, and labels count them."""
    return _move_messages_of(tx, workspace_id, contact_ids, (ARCHIVED, VISIBLE), changed)


def _move_messages_of(
    tx: Transaction, workspace_id: int, contact_ids: Sequence[int], move: tuple[str, str], changed: Period | None
) -> list[int]:
    mine = message.c.workspace_id == workspace_id
    theirs = mine & message.c.contact_id.in_(contact_ids) & (message.c.direction == INCOMING)
    hold_messages(tx, theirs)
    found = select(message.c.id, message.c.contact_id).where(theirs, message.c.visibility == move[0])
    if changed is not None:
        found = found.where(*changed.holds(stamped_on(message)))
    rows = tx.execute(found.order_by(message.c.id)).all()
    for some in split([row.id for row in rows]):
        move_messages(tx, workspace_id, some, None, *move)
    return sorted({row.contact_id for row in rows})


def _read_rows(
    tx: Transaction,
    workspace: Workspace,
    rows: Sequence[ContactRow],
    group_ids: Sequence[int],
    outcomes: dict[int, Outcome],
) -> list[_Read]:
    groups = find_joinable(tx, workspace.id, {each for row in rows for each in row.groups})
    urns = find_urns(tx, workspace, sorted({text for row in rows for text in row.urns}))
    found = []
    for row in rows:
        try:
            found.append(_read_row(row, urns, groups, group_ids))
        except RowRejected as error:
            outcomes[row.number] = Outcome(row.number, REJECTED, str(error), place=error.place)
    return found


def _read_row(
    row: ContactRow, urns: Mapping[str, Urn], groups: Mapping[str, int | str], group_ids: Sequence[int]
) -> _Read:
    """Raises RowRejected with the reason for which a row is rejected."""
    if row.uuid is None and not row.urns:
        raise RowRejected(UNNAMED)
    if row.uuid is not None and not is_uuid(row.uuid):
        raise RowRejected(UNKNOWN_UUID, "uuid")
    if any("\x00" in text for text in (row.name or "", *row.urns, *(text or "" for text in row.fields.values()))):
        raise RowRejected(BAD_TEXT)
    if len(row.name or "") > NAME_LENGTH:
        raise RowRejected(f"name: At most {NAME_LENGTH} characters.", "name")
    if len(row.urns) > URNS_LIMIT:
        raise RowRejected(f"urns: At most {URNS_LIMIT} URNs.", "urns")
    bad = next((text for text in row.urns if text not in urns), None)
    if bad is not None:
        raise RowRejected(f"{bad[:64]}: {explain_urn(bad)}", "urns")
    try:
        language = read_language(row.language) if row.language else row.language
    except InvalidInput as error:
        raise RowRejected(str(error), "language") from error
    joined = {each: groups[each] for each in row.groups}
    refused = next((found for found in joined.values() if isinstance(found, str)), None)
    if refused is not None:
        raise RowRejected(refused, "add_groups")
    mine = {urns[text].identity: urns[text] for text in row.urns}
    ids = {*group_ids, *(found for found in joined.values() if isinstance(found, int))}
    return _Read(row, list(mine.values()), language, sorted(ids))


def _before_repeat(rows: list[_Read]) -> tuple[list[_Read], list[_Read]]:
    """The rows before the first one with a UUID or URN of a row before it, and the rest."""
    seen: set[str] = set()
    for place, each in enumerate(rows):
        names = {urn.identity for urn in each.urns} | ({each.row.uuid.lower()} if each.row.uuid else set())
        if names & seen:
            return rows[:place], rows[place:]
        seen |= names
    return rows, []


def _write_some(
    tx: Transaction,
    workspace: Workspace,
    rows: list[_Read],
    values: _Values,
    outcomes: dict[int, Outcome],
) -> list[_Read]:
    """Writes rows that name different URNs and UUIDs; returns those that have to wait for one before them."""
    by_uuid = find_ids(tx, workspace.id, contact, [each.row.uuid.lower() for each in rows if each.row.uuid])
    owners = hold_owners(tx, workspace.id, [urn for each in rows for urn in each.urns], sorted(by_uuid.values()))
    owner_of = {identity: owner.contact_id for identity, owner in owners.items()}
    stored = _read_stored(tx, workspace.id, sorted({*by_uuid.values(), *owner_of.values()}))
    writing: list[_Read] = []
    taken: set[int] = set()
    for place, each in enumerate(rows):
        try:
            each.contact_id = _choose(workspace, each, by_uuid, owner_of, stored)
            before = stored[each.contact_id].fields if each.contact_id is not None else {}
            each.values, each.unread = values.read(tx, each.row, before)
        except RowRejected as error:
            outcomes[each.row.number] = Outcome(each.row.number, REJECTED, str(error), place=error.place)
            continue
        if each.contact_id in taken:
            _write(tx, workspace, writing, stored, outcomes)
            return rows[place:]
        taken |= set() if each.contact_id is None else {each.contact_id}
        writing.append(each)
    _write(tx, workspace, writing, stored, outcomes)
    return []


def _read_stored(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> dict[int, Any]:
    """The contacts that rows name, locked by `hold_owners` or here."""
    if not contact_ids:
        return {}
    columns = (contact.c.id, contact.c.name, contact.c.language, contact.c.fields, contact.c.status)
    mine = (contact.c.workspace_id == workspace_id) & contact.c.id.in_(contact_ids) & ~contact.c.is_deleted
    rows = tx.execute(select(*columns).where(mine).order_by(contact.c.id).with_for_update(key_share=True))
    return {row.id: row for row in rows}


def _choose(
    workspace: Workspace,
    each: _Read,
    by_uuid: Mapping[str, int],
    owner_of: Mapping[str, int],
    stored: Mapping[int, Any],
) -> int | None:
    """The contact that a row means. Raises RowRejected with the reason for which it is rejected."""
    owners = {owner_of[urn.identity] for urn in each.urns if urn.identity in owner_of}
    if each.row.uuid is not None:
        named = by_uuid.get(each.row.uuid.lower())
        if named not in stored:
            raise RowRejected(UNKNOWN_UUID, "uuid")
        if workspace.is_anonymous and each.urns:
            raise RowRejected(HIDDEN_URNS, "urns")
        if owners - {named}:
            raise RowRejected(TAKEN_URN, "urns")
        found = named
    else:
        if workspace.is_anonymous and owners:
            raise RowRejected(TAKEN_URN, "urns")
        if len(owners) > 1:
            raise RowRejected(TWO_CONTACTS, "urns")
        found = next(iter(owners), None)
    if found is not None and each.group_ids and stored[found].status != ACTIVE:
        raise RowRejected(NOT_ACTIVE, "add_groups")
    return found


def _write(
    tx: Transaction,
    workspace: Workspace,
    rows: Sequence[_Read],
    stored: Mapping[int, Any],
    outcomes: dict[int, Outcome],
) -> None:
    created = [each for each in rows if each.contact_id is None]
    present = [each for each in rows if each.contact_id is not None]
    _create(tx, workspace.id, created)
    values = _change(tx, workspace.id, present, stored)
    new_ids = {each.contact_id for each in created if each.contact_id is not None}
    urns = _add_urns(tx, workspace.id, rows)
    changed = (values.keys() | urns.keys()) - new_ids
    joined: set[int] = set()
    for group_id in sorted({group_id for each in rows for group_id in each.group_ids}):
        theirs = [each.contact_id for each in rows if each.contact_id is not None and group_id in each.group_ids]
        joined |= set(add_members(tx, workspace.id, group_id, theirs))
    change_contacts(tx, workspace.id, sorted(changed))
    follow_contacts(tx, workspace.id, sorted(changed | new_ids))
    for result, some in ((CREATED, created), (UPDATED, present)):
        for each in some:
            number, contact_id = each.row.number, each.contact_id
            assert contact_id is not None
            changes = {
                "values": _first_values(each) if result == CREATED else values.get(contact_id, {}),
                "urns": urns.get(contact_id, []),
                "joined": contact_id in joined,
            }
            told = changes if result == CREATED or any(changes.values()) else None
            outcomes[number] = Outcome(number, result, contact_id=contact_id, unread=each.unread, changes=told)


def _first_values(each: _Read) -> dict[str, list[Any]]:
    """The values of a new contact, as `_change` tells those of others."""
    own = {"name": each.row.name or None, "language": each.language or None, **each.values}
    return {key: [None, value] for key, value in own.items() if value is not None}


def _create(tx: Transaction, workspace_id: int, rows: Sequence[_Read]) -> None:
    if not rows:
        return
    moment = stamped(tx, contact, workspace_id)
    uuids = [new_uuid() for _ in rows]
    made = [
        {
            "uuid": uuid,
            "workspace_id": workspace_id,
            "name": each.row.name or None,
            "language": each.language or None,
            "fields": {key: value for key, value in each.values.items() if value is not None},
            "created_on": tx.now,
            "modified_on": moment,
        }
        for each, uuid in zip(rows, uuids, strict=True)
    ]
    tx.execute(insert(contact), made)
    ids = find_ids(tx, workspace_id, contact, uuids)
    for each, uuid in zip(rows, uuids, strict=True):
        each.contact_id = ids[uuid]
    tell(tx, workspace_id, CONTACT_CREATED, ids.values())


def _change(
    tx: Transaction, workspace_id: int, rows: Sequence[_Read], stored: Mapping[int, Any]
) -> dict[int, dict[str, list[Any]]]:
    """Writes what differs; returns, by contact, the values that changed, each before and after."""
    changes: dict[int, dict[str, Any]] = {}
    told: dict[int, dict[str, list[Any]]] = {}
    for each in rows:
        assert each.contact_id is not None
        before = stored[each.contact_id]
        merged = {**before.fields, **each.values}
        wanted = {
            "name": before.name if each.row.name is None else each.row.name or None,
            "language": before.language if each.language is None else each.language or None,
            "fields": {uuid: value for uuid, value in merged.items() if value is not None},
        }
        if wanted != {"name": before.name, "language": before.language, "fields": before.fields}:
            changes[each.contact_id] = wanted
            old = {"name": before.name, "language": before.language, **before.fields}
            new = {"name": wanted["name"], "language": wanted["language"], **merged}
            pairs = {key: [old.get(key), value] for key, value in new.items()}
            told[each.contact_id] = {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}
    change_each_contact(tx, workspace_id, changes)
    return told


def _add_urns(tx: Transaction, workspace_id: int, rows: Sequence[_Read]) -> dict[int, list[list[str]]]:
    """Gives contacts the URNs of their rows that they do not have, after their others; returns the schemes and paths of
    those that contacts got. Raises LostRace if another contact has got one meanwhile."""
    wanted = {urn.identity: (urn, each) for each in rows for urn in each.urns}
    if not wanted:
        return {}
    urns, columns = [urn for urn, _ in wanted.values()], contact_urn.c
    mine = (columns.workspace_id == workspace_id) & is_one_of(urns)
    statement = select(columns.id, columns.scheme, columns.path, columns.contact_id).where(mine)
    found = tx.execute(statement.order_by(columns.id).with_for_update(key_share=True))
    there = {Urn(row.scheme, row.path).identity: row for row in found}
    last = _last_priorities(tx, workspace_id, sorted({each.contact_id for each in rows if each.contact_id}))
    new, adopted = [], []
    given: dict[int, list[list[str]]] = {}
    for identity, (urn, each) in wanted.items():
        row = there.get(identity)
        assert each.contact_id is not None
        if row is not None and row.contact_id is not None:
            if row.contact_id != each.contact_id:
                raise LostRace  # nobody else had it when the row was read
            continue
        priority = last.get(each.contact_id, -1) + 1
        last[each.contact_id] = priority
        given.setdefault(each.contact_id, []).append([urn.scheme, urn.path])
        if row is not None:
            adopted.append({"which": row.id, "owner": each.contact_id, "place": priority})
            continue
        new.append(
            {
                "workspace_id": workspace_id,
                "contact_id": each.contact_id,
                "scheme": urn.scheme,
                "path": urn.path,
                "display": urn.display or None,
                "priority": priority,
            }
        )
    if adopted:
        free = (columns.workspace_id == workspace_id) & (columns.id == bindparam("which"))
        values: dict[str, Any] = {"contact_id": bindparam("owner"), "priority": bindparam("place")}
        tx.execute(update(contact_urn).where(free).values(**values), adopted)
    if new:
        tx.execute(insert(contact_urn), new)
    return given


def _last_priorities(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> dict[int, int]:
    columns = contact_urn.c
    mine = (columns.workspace_id == workspace_id) & columns.contact_id.in_(contact_ids)
    last = select(columns.contact_id, func.max(columns.priority)).where(mine).group_by(columns.contact_id)
    return {contact_id: priority for contact_id, priority in tx.execute(last) if contact_id is not None}
