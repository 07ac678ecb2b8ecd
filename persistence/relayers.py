"""Android phones as channels: registration, claiming, release (relayer protocol, sections 5, 6, 15, 16)."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, insert, select, update

from flows.phones import PhoneError, country_of, parse_number
from persistence.channel_alarms import close_alarms
from persistence.channels import ANDROID, channel
from persistence.columns import new_uuid
from persistence.contact_numbers import normalise_numbers
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.gateway_sends import drop_sends_of
from persistence.messages import FAILED, IS_UNSENT, message
from persistence.registration_limits import Origin, count_registration
from persistence.workspaces import Workspace

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
CLAIM_CODE_LENGTH = 9
SECRET_LENGTH = 64
CHANNEL_REMOVED = "channel_removed"
LEFT_BEHIND: dict[str, Any] = dict.fromkeys(
    ("name", "webhook_url", "webhook_events", "webhook_secret", "webhook_previous_secret", "webhook_rotated_on")
)
"""What a phone does not take along when another workspace claims it: that workspace's events are not for the old one's
receiver."""


@dataclass(frozen=True, slots=True)
class Registration:
    """What a phone is told when it registers."""

    channel_id: int
    secret: str
    claim_code: str


@dataclass(frozen=True, slots=True)
class PhoneIdentity:
    """What a phone says of itself when it registers."""

    device_uuid: str
    push_token: str
    country: str | None
    device: str | None
    os: str | None


def random_code(length: int) -> str:
    """Random characters of the alphabet that people do not misread."""
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def register_phone(tx: Transaction, phone: PhoneIdentity, origin: Origin) -> Registration:
    """Give a phone an id, a secret and a claim code; asking twice gives the same until they are used.

    Device uuids are private, yet somebody who learns one must not take a claimed phone over: under another push token
    the registration waits for a new claim, and until then the phone that holds the present secret goes on.
    Raises TooManyRegistrations for a phone that is new and one too many from its address.
    """
    known = channel.c.is_active & (channel.c.device_uuid == phone.device_uuid)
    row = tx.execute(select(channel).where(known).with_for_update()).first()
    if row is None:
        count_registration(tx, origin)
        return _create_phone(tx, phone)
    if row.workspace_id is not None and row.push_token != phone.push_token:
        return _register_for_new_claim(tx, row, phone)
    return _register_again(tx, row, phone)


def _create_phone(tx: Transaction, phone: PhoneIdentity) -> Registration:
    secret, claim_code = random_code(SECRET_LENGTH), random_code(CLAIM_CODE_LENGTH)
    values = {"uuid": new_uuid(), "type": ANDROID, "schemes": ["tel"], "is_active": True, "is_secret_used": False}
    fresh = {"created_on": tx.now, "last_seen": tx.now, "secret": secret, "claim_code": claim_code}
    counts = {"power_level": -1, "pending_count": 0, "retry_count": 0}
    statement = insert(channel).values(device_uuid=phone.device_uuid, **_said(phone), **values, **fresh, **counts)
    channel_id = tx.execute(statement.returning(channel.c.id)).scalar_one()
    return Registration(channel_id, secret, claim_code)


def _register_again(tx: Transaction, row: Any, phone: PhoneIdentity) -> Registration:
    secret, claim_code = row.secret, row.claim_code or random_code(CLAIM_CODE_LENGTH)
    changes: dict[str, Any] = {**_said(phone), "last_seen": tx.now, "claim_code": claim_code}
    if secret is None or row.is_secret_used:
        secret = random_code(SECRET_LENGTH)
        changes |= {"secret": secret, "previous_secret": row.secret, "is_secret_used": False}
    tx.execute(update(channel).where(channel.c.id == row.id).values(**changes))
    return Registration(row.id, secret, claim_code)


def _register_for_new_claim(tx: Transaction, row: Any, phone: PhoneIdentity) -> Registration:
    is_repeated = row.pending_token == phone.push_token and row.pending_secret is not None
    secret = row.pending_secret if is_repeated else random_code(SECRET_LENGTH)
    claim_code = row.claim_code if is_repeated else random_code(CLAIM_CODE_LENGTH)
    waiting = {"pending_secret": secret, "pending_token": phone.push_token, "claim_code": claim_code}
    tx.execute(update(channel).where(channel.c.id == row.id).values(**waiting))
    return Registration(row.id, secret, claim_code)


def _said(phone: PhoneIdentity) -> dict[str, Any]:
    said = {"push_token": phone.push_token, "country": phone.country, "device": phone.device, "os": phone.os}
    return {name: value for name, value in said.items() if value is not None}


def claim_phone(tx: Transaction, workspace: Workspace, claim_code: str, phone: str, name: str | None) -> int:
    """Attach the phone that shows this code to the workspace under its number; returns the channel id.

    Raises InvalidInput on `claim_code` or `phone`. Contact numbers without country code are normalised again.
    """
    code = "".join(claim_code.split()).upper()
    waiting = channel.c.is_active & (channel.c.claim_code == code)
    row = tx.execute(select(channel).where(waiting).with_for_update()).first()
    if row is None:
        raise InvalidInput.on("claim_code", "Unknown claim code.")
    address = read_own_number(phone, row.country)
    changes: dict[str, Any] = {"workspace_id": workspace.id, "claim_code": None, "address": address}
    if row.pending_secret is not None:
        changes |= {"secret": row.pending_secret, "push_token": row.pending_token, "is_secret_used": False}
        changes |= {"pending_secret": None, "pending_token": None, "previous_secret": None}
    has_moved = row.workspace_id not in (None, workspace.id)
    if has_moved:
        changes |= LEFT_BEHIND
    if name is not None:
        changes["name"] = name
    if not row.country:
        changes["country"] = country_of(address) or None
    tx.execute(update(channel).where(channel.c.id == row.id).values(**changes))
    if has_moved:
        fail_unsent(tx, row.workspace_id, [row.id])
        close_alarms(tx, row.id)
    normalise_numbers(tx, workspace.id, workspace.country or row.country or changes.get("country") or "")
    channel_id: int = row.id
    return channel_id


def read_own_number(text: str, country: str | None) -> str:
    """A phone's own number in E164 form. Raises InvalidInput when it is no possible number."""
    for form in (text, "+" + text.strip().lstrip("+")):
        try:
            return parse_number(form, country or "")
        except PhoneError:
            continue
    raise InvalidInput.on("phone", "Not a possible phone number.")


def release_channels(tx: Transaction, workspace_id: int, condition: ColumnElement[bool]) -> list[int]:
    """Release the workspace's active channels under a condition; what they had not sent fails. Returns their ids."""
    mine = (channel.c.workspace_id == workspace_id) & channel.c.is_active & condition
    gone: dict[str, Any] = {"is_active": False, "push_token": None, "claim_code": None, "pending_secret": None}
    statement = update(channel).where(mine).values(**gone).returning(channel.c.id)
    released = list(tx.execute(statement).scalars())
    fail_unsent(tx, workspace_id, released)
    return released


def fail_unsent(tx: Transaction, workspace_id: int, channel_ids: Sequence[int]) -> None:
    """Fail what these channels have not sent, with the reason that the channel was removed."""
    if not channel_ids:
        return
    theirs = (message.c.workspace_id == workspace_id) & message.c.channel_id.in_(channel_ids)
    failed = {"status": FAILED, "failed_reason": CHANNEL_REMOVED, "sent_on": None}
    tx.execute(update(message).where(theirs, IS_UNSENT).values(modified_on=tx.now, **failed))
    drop_sends_of(tx, workspace_id, channel_ids)
