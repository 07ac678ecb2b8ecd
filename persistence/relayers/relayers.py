"""Android phones as channels of workspaces: claiming and release (relayer protocol, sections 6, 15, 16)."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, delete, select, update

from flows.phones import PhoneError, country_of, parse_number
from persistence.changes import note_changed, note_messages
from persistence.channels.alarms import close_alarms
from persistence.channels.former_channels import note_arrival, note_departure
from persistence.channels.gateway_sends import drop_sends_of
from persistence.contacts.urns import normalize_numbers
from persistence.database import Transaction
from persistence.deletions import CHANNEL, note_deleted
from persistence.deliveries.failing_receivers import end_trouble
from persistence.errors import InvalidInput, RecordMissing
from persistence.messages.states import FAILED, IS_UNSENT
from persistence.relayers.registrations import (
    Phone,
    WaitingRegistration,
    drop_waiting,
    insert_phone,
    lock_phones,
    lock_waiting,
    swap_registrations,
)
from persistence.stamps import later
from persistence.tables.channels import channel, waiting_registration
from persistence.tables.messages import message
from persistence.triggers.writes import archive_triggers_of_channels
from persistence.workspaces import Workspace

CHANNEL_REMOVED = "channel_removed"
LEFT_BEHIND: dict[str, Any] = dict.fromkeys(
    ("name", "webhook_url", "webhook_events", "webhook_secret", "webhook_previous_secret", "webhook_rotated_on")
)
"""The columns that are cleared when another workspace claims a phone: events of the new workspace are not for the
old one's receiver."""


def claim_phone(tx: Transaction, workspace: Workspace, claim_code: str, number: str, name: str | None) -> int:
    """Attach the phone that shows this code to the workspace with its number; returns the channel id. Raises
    InvalidInput for `claim_code` or `phone`. Contact numbers without a country code are normalized again. A waiting
    registration with the device UUID of another workspace's phone becomes a separate phone: the device UUID proves
    nothing, so the other workspace keeps its phone.
    """
    phone, waiting = _find_claimed(tx, "".join(claim_code.split()).upper())
    said = phone if waiting is None else waiting
    address = read_own_number(number, said.country)
    country = said.country or country_of(address) or None
    changes: dict[str, Any] = {"workspace_id": workspace.id, "claim_code": None, "address": address, "country": country}
    if name is not None:
        changes["name"] = name
    if waiting is not None:
        changes |= {"secret": waiting.secret, "push_token": waiting.push_token, "is_secret_used": False}
        changes |= {"previous_secret": None, "device": waiting.device, "os": waiting.os}
    channel_id = phone.id
    if waiting is not None and phone.workspace_id not in (None, workspace.id):
        drop_waiting(tx, waiting)
        own = {"device_uuid": phone.device_uuid, "parted_from_id": phone.parted_from_id or phone.id}
        channel_id = insert_phone(tx, **changes | own, last_seen=tx.now)
        note_changed(tx, channel, workspace.id, [channel_id])
    else:
        _hand_over(tx, phone, waiting, workspace.id, changes)
    normalize_numbers(tx, workspace.id, workspace.country or country or "")
    return channel_id


def _find_claimed(tx: Transaction, code: str) -> tuple[Phone, WaitingRegistration | None]:
    """The phone that shows a code, and the waiting registration if the code belongs to it; both locked."""
    shown = waiting_registration.c.claim_code == code
    beside = select(waiting_registration.c.channel_id).where(shown).scalar_subquery()
    phones = lock_phones(tx, channel.c.claim_code == code)
    if phones:
        return phones[0], None
    phones, waiting = lock_phones(tx, channel.c.id == beside), lock_waiting(tx, shown)
    if not phones or not waiting:
        raise InvalidInput.on("claim_code", "Unknown claim code.")
    return phones[0], waiting[0]


def _hand_over(
    tx: Transaction, phone: Phone, waiting: WaitingRegistration | None, workspace_id: int, changes: dict[str, Any]
) -> None:
    """Give a phone to the workspace; its earlier records stay with the previous workspace."""
    former_id = phone.workspace_id
    if waiting is not None and former_id is None:
        swap_registrations(tx, waiting, phone)
    elif waiting is not None:
        drop_waiting(tx, waiting)
    if former_id is None or former_id == workspace_id:
        tx.execute(update(channel).where(channel.c.id == phone.id).values(**changes))
        note_changed(tx, channel, workspace_id, [phone.id])
        return
    note_deleted(tx, former_id, CHANNEL, [note_departure(tx, phone.id, former_id)])
    note_arrival(tx, phone.id, workspace_id)
    left = LEFT_BEHIND | {"allow_international": False}
    tx.execute(update(channel).where(channel.c.id == phone.id).values(**left | changes))
    note_changed(tx, channel, workspace_id, [phone.id])
    _leave(tx, former_id, [phone.id])
    close_alarms(tx, phone.id)
    end_trouble(tx, channel_ids=[phone.id])


def read_own_number(text: str, country: str | None) -> str:
    """A phone's own number in E.164 form. Raises InvalidInput if it is not a possible number."""
    for form in (text, "+" + text.strip().lstrip("+")):
        try:
            return parse_number(form, country or "")
        except PhoneError:
            continue
    raise InvalidInput.on("phone", "Not a possible phone number.")


def release_channels(tx: Transaction, workspace_id: int, condition: ColumnElement[bool]) -> list[int]:
    """Release the workspace's active channels that meet a condition; their unsent messages fail. Returns their ids."""
    mine = (channel.c.workspace_id == workspace_id) & channel.c.is_active & condition
    tx.execute(select(channel.c.id).where(mine).order_by(channel.c.id).with_for_update())
    gone: dict[str, Any] = {"is_active": False, "push_token": None, "claim_code": None}
    statement = update(channel).where(mine).values(**gone).returning(channel.c.id, channel.c.uuid)
    rows = tx.execute(statement).all()
    released = [row.id for row in rows]
    note_deleted(tx, workspace_id, CHANNEL, [row.uuid for row in rows])
    note_changed(tx, channel, workspace_id, released)
    tx.execute(delete(waiting_registration).where(waiting_registration.c.channel_id.in_(released)))
    _leave(tx, workspace_id, released)
    return released


def release_channel(tx: Transaction, workspace_id: int, uuid: str) -> None:
    """Release an active channel; its unsent messages fail. Raises RecordMissing."""
    if not release_channels(tx, workspace_id, channel.c.uuid == uuid):
        raise RecordMissing


def _leave(tx: Transaction, workspace_id: int, channel_ids: Sequence[int]) -> None:
    """End what depends on leaving channels: their unsent messages and the triggers that use only them."""
    fail_unsent(tx, workspace_id, channel_ids)
    archive_triggers_of_channels(tx, workspace_id, channel_ids)


def fail_unsent(tx: Transaction, workspace_id: int, channel_ids: Sequence[int]) -> None:
    """Fail the unsent messages of these channels, with the reason that the channel was removed."""
    if not channel_ids:
        return
    theirs = (message.c.workspace_id == workspace_id) & message.c.channel_id.in_(channel_ids)
    failed = {"status": FAILED, "failed_reason": CHANNEL_REMOVED, "sent_on": None}
    failing = update(message).where(theirs, IS_UNSENT).values(modified_on=later(tx, message), **failed)
    note_messages(tx, workspace_id, tx.execute(failing.returning(message.c.id)).scalars())
    drop_sends_of(tx, workspace_id, channel_ids)
