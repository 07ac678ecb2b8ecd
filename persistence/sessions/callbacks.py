"""Callbacks: what other systems bring to flows that wait for it, each at an address of its own, once. The address says
which wait it is for, under a keyed hash: nothing is stored when it is given, so that it is right before its sprint is
recorded and when the sprint is run again. What arrives is stored before it is answered, and taken by the worker.
"""

import hmac
import re
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import delete, select, tuple_

from persistence.database import Transaction, delete_old
from persistence.sessions.parking import IS_WAITING, WAITING
from persistence.statements import update
from persistence.tables.contacts import contact
from persistence.tables.flows import flow_callback, flow_session

CALLBACK = "callback"
WAKE = "timers"
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
        tx.wake(WAKE)
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
