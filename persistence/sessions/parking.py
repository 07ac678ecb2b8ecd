"""Who continues the conversations of a contact, and what a sprint waits for outside of flows.

Leases: only one worker at a time continues the conversations of a contact, whatever started them. The holder may work
outside of transactions. Results are recorded only while the lease is held, so that a worker whose lease expired changes
nothing. Work that takes only a moment and calls nobody outside needs no lease, which would write each contact once
more: its results are recorded if a contact is still as it was seen. A lease that is over but was not given back tells
of a worker that died: the next one counts on. The last attempt is made alone, so that only who ends workers is given
up.

Parking: contacts whose sprints may call other systems wait until a slot is free, so that they delay only each other.
A parked contact is found by its row here, not by its due messages or waits. The row is deleted when the contact is
leased: if the worker dies, the lease expires, and the due work is found again as usual.

Callbacks: what other systems bring to flows that wait for it, each at an address of its own, once. The address says
which wait it is for, under a keyed hash: nothing is stored when it is given, so that it is right before its sprint is
recorded and when the sprint is run again. What arrives is stored before it is answered, and taken by the worker.
"""

import hmac
import re
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Executable,
    Select,
    Table,
    delete,
    exists,
    literal,
    literal_column,
    select,
    true,
    tuple_,
    union_all,
)
from sqlalchemy.exc import DBAPIError

from persistence.changes import change_contacts
from persistence.database import Database, Transaction, delete_old
from persistence.errors import waited_too_long
from persistence.leases import MOST_ATTEMPTS, Leases, beside_index, has_row, is_free, list_receivers
from persistence.sql.columns import UtcDateTime, columns_for
from persistence.statements import among, execute_kept, param, statement, update
from persistence.tables.contacts import contact
from persistence.tables.flows import PENDING, flow_callback, flow_session, flow_start_batch, parked_sprint

LEASE = timedelta(seconds=30)
AWAIT_MS = 250
"""How long a worker waits for whoever is changing a contact; the next sweep comes after two seconds."""
LEASES = Leases(contact, until="handling_until", count="handling_attempts")

WAKE = "parked"
STARTS = "starts"
"""The kind of contacts that wait to be started. They do not block the contact's messages."""

WAITING = "waiting"
_WAITING_WORD: BindParameter[Any] = literal(WAITING, literal_execute=True)
IS_WAITING: ColumnElement[bool] = flow_session.c.status == _WAITING_WORD
"""The condition of partial indexes, repeated in statements: SQLite uses such an index only if the statement contains
it."""


class LeasedContact(NamedTuple):
    """The columns of a leased contact's row that flows change; `fields` are stored values by the field's UUID."""

    id: int
    name: str | None
    language: str | None
    timezone: str | None
    fields: Mapping[str, Mapping[str, str]]
    status: str


@dataclass(frozen=True, slots=True)
class ContactLeases:
    """Contacts that are leased until a time, which also distinguishes these leases from later ones. Those `given_up`
    have ended too many workers; `is_last` says that the only one is tried for the last time.
    """

    contact_ids: frozenset[int]
    until: datetime
    given_up: frozenset[int] = frozenset()
    is_last: bool = False

    def only(self, contact_id: int) -> "ContactLeases":
        """The lease of one contact, if it is among these."""
        return ContactLeases(self.contact_ids & {contact_id}, self.until)


@dataclass(frozen=True, slots=True)
class SeenContacts:
    """Contacts that nobody had leased, with the time of the last change of each."""

    changed_on: Mapping[int, datetime]

    def only(self, contact_id: int) -> "SeenContacts":
        """One of these contacts, if it is among them."""
        return SeenContacts({one: moment for one, moment in self.changed_on.items() if one == contact_id})


Claim = ContactLeases | SeenContacts
"""What a worker has of the contacts whose sprints it records."""


def acquire_leases(tx: Transaction, contact_ids: Collection[int], *, may_try_last: bool = True) -> ContactLeases:
    """Leases the free ones of these contacts; locked rows count as taken. One who is to be tried for the last time is
    leased alone, or not at all: see `may_try_last`.
    """
    until = tx.now + LEASE
    attempts = LEASES.take_free(tx, contact_ids, until)
    last = sorted(contact_id for contact_id, number in attempts.items() if number == MOST_ATTEMPTS)
    kept = frozenset(last[:1] if last and may_try_last else attempts.keys() - set(last))
    if last:
        put_back(tx, ContactLeases(frozenset(attempts) - kept, until))
    given_up = frozenset(contact_id for contact_id in kept if attempts[contact_id] > MOST_ATTEMPTS)
    return ContactLeases(kept, until, given_up, is_last=bool(last) and may_try_last)


def await_contacts(database: Database, workspace_id: int, contact_ids: Collection[int]) -> bool:
    """Waits until nobody else is changing these contacts, for a quarter of a second at most; returns whether that came.
    Nobody wakes a worker when somebody else's unit of work ends, and most end at once.
    """
    if database.sqlite:
        return False  # units of work that write exclude each other
    try:
        with database.writing(is_repeated=True) as tx:
            tx.connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{AWAIT_MS}ms'")
            lock_rows.rows(tx, workspace_id, sorted(contact_ids))
    except DBAPIError as error:
        if waited_too_long(error):
            return False
        raise
    return True


def renew_leases(tx: Transaction, leases: ContactLeases) -> ContactLeases:
    """Extends the leases that are still held."""
    until = tx.now + LEASE
    return ContactLeases(frozenset(LEASES.keep(tx, leases.contact_ids, leases.until, until)), until)


def lock_leased(tx: Transaction, leases: ContactLeases) -> list[LeasedContact]:
    """The contacts whose lease is still held, locked in the order of their ids."""
    return [LeasedContact(*row) for row in _lock_held.rows(tx, sorted(leases.contact_ids), leases.until)]


def see_free(tx: Transaction, workspace_id: int, contact_ids: Collection[int]) -> SeenContacts:
    """The free ones of these contacts, as they are now. To be called before anything of them is read."""
    return SeenContacts(dict(_select_free.rows(tx, workspace_id, sorted(contact_ids), tx.now)))


def lock_claimed(tx: Transaction, workspace_id: int, claim: Claim) -> list[LeasedContact]:
    """The contacts whose lease is still held, or that nobody has leased or changed since they were seen, locked in the
    order of their ids."""
    if isinstance(claim, ContactLeases):
        return lock_leased(tx, claim)
    rows = _lock_free.rows(tx, workspace_id, sorted(claim.changed_on), tx.now)
    unchanged = [row for row in rows if row[0] == claim.changed_on[row[2]]]
    expired = [contact_id for _, until, contact_id, *_ in unchanged if until is not None]
    if expired:  # whoever had such a lease must not record anything after this
        change_contacts(tx, workspace_id, expired, {LEASES.until: None})
    return [LeasedContact(*row) for _, _, *row in unchanged]


def release_claimed(tx: Transaction, claim: Claim, *, but: AbstractSet[int]) -> None:
    """Ends leases, `but` those of contacts whose leases end otherwise."""
    if isinstance(claim, ContactLeases):
        LEASES.free(tx, claim.contact_ids - but, claim.until)


def put_back(tx: Transaction, leases: ContactLeases) -> None:
    """Ends leases under which nothing was tried: they do not count, but those before them do."""
    LEASES.free(tx, leases.contact_ids, leases.until, was_tried=False)


@statement
def _lock_held(ids: Sequence[int], held_until: datetime) -> Executable:
    held = select(*columns_for(LeasedContact, contact)).where(LEASES.are_held(ids, held_until)).order_by(contact.c.id)
    return held.with_for_update(key_share=True)


def _are_theirs(workspace_id: int, ids: Sequence[int]) -> ColumnElement[bool]:
    return (beside_index(contact.c.workspace_id) == workspace_id) & among(contact.c.id, ids)


@statement
def _select_free(workspace_id: int, ids: Sequence[int], now: datetime) -> Executable:
    return select(contact.c.id, contact.c.modified_on).where(
        _are_theirs(workspace_id, ids), is_free(contact.c.handling_until, now)
    )


@statement
def _lock_free(workspace_id: int, ids: Sequence[int], now: datetime) -> Executable:
    times = (contact.c.modified_on, contact.c.handling_until)
    free = select(*times, *columns_for(LeasedContact, contact)).where(
        _are_theirs(workspace_id, ids), is_free(contact.c.handling_until, now)
    )
    return free.order_by(contact.c.id).with_for_update(key_share=True)


@statement
def lock_rows(workspace_id: int, ids: Sequence[int]) -> Executable:
    mine = _are_theirs(workspace_id, ids)
    return select(contact.c.id).where(mine).order_by(contact.c.id).with_for_update(key_share=True)


@dataclass(frozen=True, slots=True)
class ParkedSprint:
    """A contact that leaves the parking; `kind` is the job that found it, `receiver` the flow, `batch_id` the batch
    of a start."""

    workspace_id: int
    contact_id: int
    kind: str
    receiver: str
    batch_id: int | None


def find_free_contacts(
    tx: Transaction,
    workspace_id: int,
    table: Table,
    waits: ColumnElement[bool],
    since: ColumnElement[Any],
    limit: int,
    *is_due: ColumnElement[bool],
) -> list[int]:
    """Contacts with due rows of the table, those due longest first, without those that are leased or parked for a
    message or the end of a wait. `waits` is the condition of a partial index, an object that exists once.
    """
    rows, parked, now = table.c, parked_sprint.c, param("now", UtcDateTime)
    conditions = [rows.workspace_id == workspace_id, *is_due]

    def build() -> Select[int]:
        # By seeks for each due row, in their order: a join would begin at contacts while PostgreSQL takes them for few.
        theirs = (contact.c.workspace_id == rows.workspace_id) & (contact.c.id == rows.contact_id)
        free = select(literal(1)).where(theirs, is_free(contact.c.handling_until, now)).correlate(table)
        held = (parked.workspace_id == rows.workspace_id) & (parked.contact_id == rows.contact_id)
        blocked = select(literal(1)).where(held, parked.kind != literal_column(f"'{STARTS}'")).correlate(table)
        found = select(rows.contact_id).where(waits, *conditions, has_row(free), ~has_row(blocked))
        return found.order_by(since, rows.id).limit(limit)

    found = execute_kept(tx, (table, waits, since), ("free", limit), conditions, build, {"now": tx.now})
    return list(dict.fromkeys(contact_id for (contact_id,) in found))


def park(
    tx: Transaction, workspace_id: int, kind: str, receivers: Mapping[int, str], batch_id: int | None = None
) -> None:
    """Parks contacts, each with its receiver; contacts that are parked already are not changed."""
    rows = [
        {
            "workspace_id": workspace_id,
            "contact_id": contact_id,
            "kind": kind,
            "receiver": receiver,
            "batch_id": batch_id,
            "parked_on": tx.now,
        }
        for contact_id, receiver in sorted(receivers.items())
    ]
    if rows:
        tx.execute(tx.upsert(parked_sprint).on_conflict_do_nothing(), rows)
        tx.wake(WAKE)


def park_leased(
    tx: Transaction, workspace_id: int, kind: str, leases: ContactLeases, receivers: Mapping[int, str]
) -> None:
    """Parks contacts that are leased and ends their leases, under which nothing was tried."""
    park(tx, workspace_id, kind, receivers)
    put_back(tx, ContactLeases(frozenset(receivers), leases.until))


def list_parked_receivers(tx: Transaction) -> list[tuple[int, str]]:
    """The workspaces and receivers that have parked contacts."""
    rows = parked_sprint.c
    return list_receivers(tx, rows.workspace_id, rows.receiver, true(), true(), rows.id)


def take_parked(
    tx: Transaction, rooms: Mapping[tuple[int, str], int], *, may_try_last: bool = True
) -> tuple[list[ParkedSprint], ContactLeases]:
    """Leases the contacts parked longest that are not leased, up to a number per workspace and receiver, and removes
    them from the parking. A contact that is parked twice is taken once.
    """
    picks = [_pick(tx, workspace_id, receiver, room) for (workspace_id, receiver), room in rooms.items() if room > 0]
    if not picks:
        return [], acquire_leases(tx, ())
    rows = parked_sprint.c
    due = select(parked_sprint).where(rows.id.in_(union_all(*picks))).order_by(rows.id)
    found: dict[int, tuple[int, ParkedSprint]] = {}
    for row in tx.execute(due.with_for_update(skip_locked=True)):
        sprint = ParkedSprint(row.workspace_id, row.contact_id, row.kind, row.receiver, row.batch_id)
        found.setdefault(row.contact_id, (row.id, sprint))
    leases = acquire_leases(tx, found.keys(), may_try_last=may_try_last)
    taken = [(row_id, each) for row_id, each in found.values() if each.contact_id in leases.contact_ids]
    for workspace_id in sorted({each.workspace_id for _, each in taken}):
        ids = [row_id for row_id, each in taken if each.workspace_id == workspace_id]
        tx.execute(delete(parked_sprint).where(rows.workspace_id == workspace_id, rows.id.in_(ids)))
    return [each for _, each in taken], leases


def recall_batches(tx: Transaction, workspace_id: int, batch_ids: Sequence[int]) -> None:
    """Makes batches of starts due again that have no parked contacts any more."""
    rows, parked = flow_start_batch.c, parked_sprint.c
    waits = exists().where(parked.workspace_id == workspace_id, parked.batch_id == rows.id)
    mine = (rows.workspace_id == workspace_id) & rows.id.in_(sorted(batch_ids)) & (rows.status == PENDING)
    if tx.execute(update(flow_start_batch).where(mine, ~waits).values(leased_until=None)).rowcount:
        tx.wake(STARTS)


def _pick(tx: Transaction, workspace_id: int, receiver: str, room: int) -> Select[int]:
    one = parked_sprint.alias()
    theirs = (one.c.workspace_id == workspace_id) & (one.c.receiver == receiver)
    free = (
        select(one.c.id)
        .join(contact, (contact.c.id == one.c.contact_id) & (contact.c.workspace_id == one.c.workspace_id))
        .where(theirs, is_free(contact.c.handling_until, tx.now))
    )
    return select(free.order_by(one.c.id).limit(room).subquery().c.id)


CALLBACK = "callback"
CALLBACK_WAKE = "timers"
"""The job that ends waits whose time has come: that of a wait whose callback has arrived is now."""
LAYOUT = struct.Struct(">IQ16s16sI")
HASH_BYTES = 20
PURPOSE = b"callback "
TOKEN = re.compile(r"[A-Za-z0-9_-]{91}\Z")
BEGINS_WITHIN = timedelta(hours=1)
"""How long a session may take from its beginning until it is stored."""
KEPT_FOR = timedelta(days=120)
"""Of what no flow took: longer than pauses last."""


class Address(NamedTuple):
    """The wait for a callback with this number, from 0 on, of a session of a contact."""

    workspace_id: int
    contact_uuid: str
    session_uuid: str
    began_on: datetime
    number: int

    def write(self, secret_key: str) -> str:
        """The token in its URL."""
        began, uuids = int(self.began_on.timestamp()), (UUID(self.contact_uuid).bytes, UUID(self.session_uuid).bytes)
        said = LAYOUT.pack(self.workspace_id, began, *uuids, self.number)
        return urlsafe_b64encode(said + _sign(said, secret_key)).decode().rstrip("=")


class ReceivedCallback(NamedTuple):
    """What arrived for a wait."""

    body: str
    received_on: datetime


def read_address(token: str, secret_keys: Sequence[str]) -> Address | None:
    """The wait that a token is for; None if nobody of this service has written it."""
    if TOKEN.match(token) is None:
        return None
    read = urlsafe_b64decode(f"{token}=")
    said, signature = read[: LAYOUT.size], read[LAYOUT.size :]
    if not any(hmac.compare_digest(signature, _sign(said, key)) for key in secret_keys):
        return None
    workspace_id, began, contact_uuid, session_uuid, number = LAYOUT.unpack(said)
    began_on = datetime.fromtimestamp(began, UTC)
    return Address(workspace_id, str(UUID(bytes=contact_uuid)), str(UUID(bytes=session_uuid)), began_on, number)


def receive_callback(tx: Transaction, address: Address, body: str) -> bool:
    """Stores what arrived at an address, and ends its wait if that has begun. False if the wait is over, or something
    arrived for it already: then nothing is changed.
    """
    workspace_id, sessions = address.workspace_id, flow_session.c
    person = (contact.c.workspace_id == workspace_id) & (contact.c.uuid == address.contact_uuid)
    # Contacts before other rows, as workers lock them. One who is deleted meanwhile is not found any more.
    held = select(contact.c.id).where(person, contact.c.is_deleted.is_(False)).with_for_update(key_share=True)
    contact_id = tx.execute(held).scalar()
    if contact_id is None:
        return False
    mine = (sessions.workspace_id == workspace_id) & (sessions.uuid == address.session_uuid)
    found = tx.execute(select(sessions.id, sessions.status, sessions.state).where(mine)).first()
    if found is None and tx.now - address.began_on > BEGINS_WITHIN:
        return False
    state = {} if found is None else found.state or {}
    if found is not None and (found.status != WAITING or count_ended(state) > address.number):
        return False
    values = {"workspace_id": workspace_id, "contact_id": contact_id, "session_uuid": address.session_uuid}
    new = tx.upsert(flow_callback).values(**values, number=address.number, body=body, received_on=tx.now)
    if tx.execute(new.on_conflict_do_nothing()).rowcount != 1:
        return False
    if found is not None and state.get("pause") == CALLBACK and count_ended(state) == address.number:
        ended = update(flow_session).where(mine, IS_WAITING)
        tx.execute(ended.values(timeout_on=tx.now, modified_on=tx.now))
        tx.wake(CALLBACK_WAKE)
    return True


def count_ended(state: Mapping[str, Any]) -> int:
    """How many waits for a callback of a stored session have ended; it waits for the one with this number."""
    return int(state.get("callbacks") or 0)


def load_callbacks(
    tx: Transaction, workspace_id: int, states: Collection[Mapping[str, Any]]
) -> dict[str, ReceivedCallback]:
    """What arrived for those of these stored sessions that wait for a callback, by the UUID of the session."""
    waits = [(state["uuid"], count_ended(state)) for state in states if state.get("pause") == CALLBACK]
    if not waits:
        return {}
    rows = flow_callback.c
    wanted = (rows.workspace_id == workspace_id) & tuple_(rows.session_uuid, rows.number).in_(waits)
    found = tx.execute(select(rows.session_uuid, rows.body, rows.received_on).where(wanted))
    return {uuid: ReceivedCallback(body, received_on) for uuid, body, received_on in found}


def forget_callbacks(tx: Transaction, workspace_id: int, states: Collection[Mapping[str, Any]]) -> None:
    """Deletes what arrived for the waits of stored sessions that waited for a callback and have gone on."""
    uuids = [state["uuid"] for state in states if state.get("pause") == CALLBACK]
    if uuids:
        rows = flow_callback.c
        waits = [(state["uuid"], count_ended(state)) for state in states if state.get("pause") == CALLBACK]
        taken = (rows.workspace_id == workspace_id) & tuple_(rows.session_uuid, rows.number).in_(waits)
        tx.execute(delete(flow_callback).where(taken))


def trim_callbacks(tx: Transaction, limit: int) -> int:
    """Deletes what no flow took within KEPT_FOR; returns how many there were."""
    return delete_old(tx, flow_callback.c.received_on, KEPT_FOR, limit)


def _sign(said: bytes, secret_key: str) -> bytes:
    return hmac.digest(secret_key.encode(), PURPOSE + said, "sha256")[:HASH_BYTES]
