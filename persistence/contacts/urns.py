"""URNs and fields, which many contacts share: finds the owners of URNs, creates contacts for new ones, and reads
strings as values of fields, also as a boundary.
"""

import contextlib
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from sqlalchemy import Executable, bindparam, case, select

from flows.dates import move_to_zone, parse_datetime
from flows.environment import Environment, SystemClock, in_whole_minutes
from flows.numbers import NumberError, PlainNumber, parse_decimal, render_decimal
from flows.phones import normalize_number
from flows.places import DISTRICT, STATE, WARD, Place, find_first, find_path, is_possible_path, read_places
from flows.typed import clean
from flows.urns import Urn
from persistence.boundaries import read_place_tree
from persistence.changes import change_contacts
from persistence.contacts.owners import UrnOwner, hold_owners
from persistence.database import Transaction
from persistence.errors import LostRace
from persistence.groups.smart_groups import find_dependents, follow_contacts, follow_new
from persistence.leases import beside_index
from persistence.sql.columns import new_uuid, split
from persistence.stamps import CONTACT_CREATED, changes_of, stamped, tell
from persistence.statements import among, insert_rows, statement, update
from persistence.tables.contacts import ACTIVE, STOPPED, contact, contact_urn, field
from persistence.workspaces.records import Workspace

FIRST_PRIORITY = 0
FREED: dict[str, Any] = {"contact_id": None, "channel_id": None, "former_contact_id": contact_urn.c.contact_id}
"""What makes a URN free for others."""

_REVIVED = {"status": case((contact.c.status == STOPPED, ACTIVE), else_=contact.c.status)}

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

VALUE_LENGTH = 640
LEVELS = {"state": STATE, "district": DISTRICT, "ward": WARD}
PARENTS = {"district": "state", "ward": "district"}

DATE_FORMATS = {"day_first": "DD-MM-YYYY", "month_first": "MM-DD-YYYY", "year_first": "YYYY-MM-DD"}

Value = dict[str, Any] | None


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


@dataclass(frozen=True, slots=True)
class FixedClock(SystemClock):
    """A clock that always shows the time of a transaction."""

    moment: datetime

    def now(self) -> datetime:
        return self.moment

    def random(self) -> Decimal:
        return SystemClock().random()


def environment_of(workspace: Workspace) -> Environment:
    """The formats, time zone, languages and country with which a workspace's values are read."""
    return Environment(
        date_format=DATE_FORMATS[workspace.date_style],
        timezone=workspace.timezone,
        allowed_languages=workspace.languages,
        default_country=workspace.country,
        number_format=workspace.number_signs,
        redaction_policy="urns" if workspace.is_anonymous else "none",
    )


def read_value(
    workspace: Workspace, text: str | None, now: datetime, environment: Environment | None = None
) -> dict[str, Any] | None:
    """The stored form of a field value: its text, and the number and the datetime as which it can be read. None for an
    empty string, which clears the field. Numbers are plain decimal strings; datetimes are ISO 8601 in the workspace's
    time zone (contract reference, contact field values).
    """
    given, text = text, clean(text or "")[:VALUE_LENGTH]
    if not text:
        return None
    stored = {"text": text}
    environment = environment or environment_of(workspace)
    number = given if isinstance(given, PlainNumber) else text
    with contextlib.suppress(NumberError):
        stored["number"] = render_decimal(parse_decimal(number, environment.number_format))
    moment = parse_datetime(environment, FixedClock(now), text, fill_time=False)
    if moment is not None:
        stored["datetime"] = in_whole_minutes(move_to_zone(moment, workspace.zone)).isoformat()
    return stored


def read_place_values(
    tx: Transaction,
    workspace: Workspace,
    stored: Mapping[str, Any],
    values: Mapping[str, Value],
    kinds: Mapping[str, str],
) -> dict[str, Value]:
    """The same values, by field UUID, with the boundaries that they name (contract reference, contact field values).
    `stored` are the contact's values so far, `kinds` the types of the changed fields. A state is found by name, alias
    or path; a district needs a known state, a ward a known district, unless its whole path is given. Without such a
    field no statement is run.
    """
    if not any(value is not None and kinds[uuid] in LEVELS for uuid, value in values.items()):
        return dict(values)
    places = load_places(tx, workspace)
    return dict(values) if places is None else places.read(stored, values, kinds)


@dataclass(frozen=True, slots=True)
class Places:
    """The boundaries of a workspace, and its fields that hold them, by their type: what many contacts are read with."""

    root: Place
    fields_by_kind: Mapping[str, list[str]]

    def read(
        self, stored: Mapping[str, Any], values: Mapping[str, Value], kinds: Mapping[str, str]
    ) -> dict[str, Value]:
        """See `read_place_values`."""
        found = dict(values)
        changing = [uuid for uuid, value in values.items() if value is not None and kinds[uuid] in LEVELS]
        for uuid in sorted(changing, key=lambda each: LEVELS[kinds[each]]):
            kind, value = kinds[uuid], found[uuid]
            assert value is not None
            parent = _find_parent(self.root, PARENTS.get(kind), self.fields_by_kind, {**stored, **found})
            place = _find_place(self.root, kind, value["text"], parent)
            found[uuid] = {**value, **_paths(place)}
        return found


def load_places(tx: Transaction, workspace: Workspace) -> Places | None:
    """None for a workspace whose country has no boundaries."""
    tree = read_place_tree(tx, workspace)
    if tree is None:
        return None
    mine = (field.c.workspace_id == workspace.id) & field.c.type.in_(list(LEVELS))
    fields_by_kind: dict[str, list[str]] = {}
    for uuid, kind in tx.execute(select(field.c.uuid, field.c.type).where(mine).order_by(field.c.id)):
        fields_by_kind.setdefault(kind, []).append(uuid)
    return Places(read_places(tree), fields_by_kind)


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
    tell(tx, workspace_id, CONTACT_CREATED, made.values())
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


@statement
def _lock_contacts(workspace_id: int, ids: Sequence[int]) -> Executable:
    theirs = (beside_index(contact.c.workspace_id) == workspace_id) & among(contact.c.id, ids)
    return select(contact.c.id).where(theirs).order_by(contact.c.id).with_for_update(key_share=True)


@statement
def _prefer_channel(workspace_id: int, urn_ids: Sequence[int], channel_id: int) -> Executable:
    rows = contact_urn.c
    mine = (beside_index(rows.workspace_id) == workspace_id) & among(rows.id, urn_ids)
    return update(contact_urn).where(mine, rows.channel_id.is_distinct_from(channel_id)).values(channel_id=channel_id)


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


def _find_place(root: Place, kind: str, text: str, parent: Place | None) -> Place | None:
    if is_possible_path(text):
        return find_path(root, text)
    if kind in PARENTS and parent is None:
        return None
    return find_first(root, LEVELS[kind], text, parent)


def _find_parent(
    root: Place, kind: str | None, fields_by_kind: Mapping[str, list[str]], values: Mapping[str, Value]
) -> Place | None:
    if kind is None:
        return None
    for uuid in fields_by_kind.get(kind, ()):
        path = (values.get(uuid) or {}).get(kind)
        if path:
            return find_path(root, path)
    return None


def _paths(place: Place | None) -> dict[str, str]:
    """The full path for each level of a boundary."""
    if place is None:
        return {}
    parts = [part.strip() for part in place.path.split(">")]
    return {kind: " > ".join(parts[: level + 1]) for kind, level in LEVELS.items() if place.level >= level}
