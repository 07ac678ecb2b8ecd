"""How phones register: an id, a secret and a claim code for each, also where several say that they are one device."""

import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, insert, select, update

from persistence.channels.channels import ANDROID
from persistence.database import Transaction
from persistence.limits.rate_limits import Origin, count_registration
from persistence.sql.columns import new_uuid
from persistence.tables.channels import CLAIM_CODE_LENGTH, channel, waiting_registration

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
SECRET_LENGTH = 64
KEPT_FOR = timedelta(days=90)
"""So long a registration that nobody claims is kept after its phone was seen last."""


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

    Device uuids are no secret, so somebody who learns one must neither take a phone over nor shut it out: under another
    push token the registration gets a secret and a code of its own and waits, and whoever is known goes on.
    Raises TooManyRegistrations for a phone that is new, or new under its token, and one too many from its address.
    """
    known = channel.c.is_active & (channel.c.device_uuid == phone.device_uuid)
    rows = tx.execute(select(channel).where(known).order_by(channel.c.id).with_for_update()).all()
    same = next((row for row in rows if row.push_token == phone.push_token), None)
    if same is not None:
        return _register_again(tx, same, phone)
    waiting = find_waiting(tx, [row.id for row in rows])
    again = next((row for row in waiting if row.push_token == phone.push_token), None)
    if again is not None:
        note_waiting_seen(tx, again)
        return Registration(again.channel_id, again.secret, again.claim_code)
    count_registration(tx, origin)
    return _let_wait(tx, rows[0].id, phone) if rows else _create_phone(tx, phone)


def _create_phone(tx: Transaction, phone: PhoneIdentity) -> Registration:
    secret, claim_code = random_code(SECRET_LENGTH), random_code(CLAIM_CODE_LENGTH)
    channel_id = insert_phone(
        tx, device_uuid=phone.device_uuid, secret=secret, claim_code=claim_code, last_seen=tx.now, **_said(phone)
    )
    return Registration(channel_id, secret, claim_code)


def insert_phone(tx: Transaction, **values: Any) -> int:
    """A new channel for a phone, with these columns beside those that all new phones have; its id."""
    state = {"uuid": new_uuid(), "type": ANDROID, "schemes": ["tel"], "is_active": True, "is_secret_used": False}
    counts = {"power_level": -1, "pending_count": 0, "retry_count": 0}
    statement = insert(channel).values({"created_on": tx.now} | state | counts | values)
    return tx.execute(statement.returning(channel.c.id)).scalar_one()


def _register_again(tx: Transaction, row: Any, phone: PhoneIdentity) -> Registration:
    secret, claim_code = row.secret, row.claim_code or random_code(CLAIM_CODE_LENGTH)
    changes: dict[str, Any] = {**_said(phone), "last_seen": tx.now, "claim_code": claim_code}
    if secret is None or row.is_secret_used:
        secret = random_code(SECRET_LENGTH)
        changes |= {"secret": secret, "previous_secret": row.secret, "is_secret_used": False}
    tx.execute(update(channel).where(channel.c.id == row.id).values(**changes))
    return Registration(row.id, secret, claim_code)


def _let_wait(tx: Transaction, channel_id: int, phone: PhoneIdentity) -> Registration:
    made = Registration(channel_id, random_code(SECRET_LENGTH), random_code(CLAIM_CODE_LENGTH))
    values = {"channel_id": channel_id, "secret": made.secret, "claim_code": made.claim_code, "last_seen": tx.now}
    tx.execute(insert(waiting_registration).values(**values, **_said(phone)))
    return made


def _said(phone: PhoneIdentity) -> dict[str, Any]:
    said = {"push_token": phone.push_token, "country": phone.country, "device": phone.device, "os": phone.os}
    return {name: value for name, value in said.items() if value is not None}


def find_waiting(tx: Transaction, channel_ids: list[int]) -> list[Any]:
    """The registrations that wait beside these phones, oldest first."""
    if not channel_ids:
        return []
    rows = waiting_registration.c
    return list(tx.execute(select(waiting_registration).where(rows.channel_id.in_(channel_ids)).order_by(rows.id)))


def note_waiting_seen(tx: Transaction, waiting: Any) -> None:
    mine = waiting_registration.c.id == waiting.id
    tx.execute(update(waiting_registration).where(mine).values(last_seen=tx.now))


def swap_registrations(tx: Transaction, waiting: Any, row: Any) -> None:
    """Let what a phone that nobody has claimed registered with wait in the place of the registration that is claimed.

    `row` holds everything of the phone as it was.
    """
    mine = waiting_registration.c.id == waiting.id
    waits = {name: row._mapping[name] for name in ("claim_code", "secret", "push_token", "country", "device", "os")}
    tx.execute(update(waiting_registration).where(mine).values(last_seen=row.last_seen, **waits))


def drop_waiting(tx: Transaction, waiting: Any) -> None:
    tx.execute(delete(waiting_registration).where(waiting_registration.c.id == waiting.id))


def trim_registrations(tx: Transaction, limit: int) -> int:
    """Deletes registrations that nobody has claimed and whose phones were not seen for KEPT_FOR; how many."""
    is_old = waiting_registration.c.last_seen < tx.now - KEPT_FOR
    old = select(waiting_registration.c.id).where(is_old).order_by(waiting_registration.c.id).limit(limit)
    statement = delete(waiting_registration).where(waiting_registration.c.id.in_(old.scalar_subquery()))
    return tx.execute(statement).rowcount + _trim_unclaimed(tx, limit)


def _trim_unclaimed(tx: Transaction, limit: int) -> int:
    rows = channel.c
    has_waiting = select(waiting_registration.c.id).where(waiting_registration.c.channel_id == rows.id).exists()
    is_old = rows.workspace_id.is_(None) & (rows.last_seen < tx.now - KEPT_FOR) & ~has_waiting
    old = select(rows.id).where(is_old).order_by(rows.id).limit(limit).with_for_update(skip_locked=True)
    return tx.execute(delete(channel).where(rows.id.in_(list(tx.execute(old).scalars())))).rowcount
