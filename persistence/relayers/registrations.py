"""Registration of phones: each gets an id, a secret and a claim code, also if several claim to be the same device."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, bindparam, delete, insert, select, update

from persistence.channels.channels import Source, insert_channel
from persistence.channels.states import IS_RELAYER
from persistence.channels.types import RELAYER, TYPES
from persistence.database import Transaction
from persistence.limits.rate_limits import Origin, count_registration
from persistence.sql.columns import columns_for
from persistence.tables.channels import CLAIM_CODE_LENGTH, channel, waiting_registration

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
SECRET_LENGTH = 64
KEPT_FOR = timedelta(days=90)
"""How long an unclaimed registration is kept after its phone was last seen."""


@dataclass(frozen=True, slots=True)
class Phone:
    """A registered phone; a phone without a workspace is unclaimed."""

    id: int
    uuid: str
    workspace_id: int | None
    address: str | None
    country: str | None
    device_uuid: str | None
    parted_from_id: int | None
    claim_code: str | None
    secret: str | None
    previous_secret: str | None
    is_secret_used: bool
    push_token: str | None
    device: str | None
    os: str | None
    last_seen: datetime | None
    refused_on: datetime | None
    refused_reason: str | None

    @property
    def source(self) -> Source:
        assert self.workspace_id is not None, "only claimed phones have anything to report"
        return Source(self.id, self.uuid, self.workspace_id, self.address, self.country)


@dataclass(frozen=True, slots=True)
class WaitingRegistration:
    """A registration under the device uuid of a known phone but another push token."""

    id: int
    channel_id: int
    claim_code: str
    secret: str
    push_token: str
    country: str | None
    device: str | None
    os: str | None


@dataclass(frozen=True, slots=True)
class Registration:
    """The response to a registration."""

    channel_id: int
    secret: str
    claim_code: str | None


@dataclass(frozen=True, slots=True)
class PhoneIdentity:
    """What a phone sends when it registers."""

    device_uuid: str
    push_token: str
    country: str | None
    device: str | None
    os: str | None


def random_code(length: int) -> str:
    """Random characters of an alphabet that is easy to read."""
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def register_phone(tx: Transaction, phone: PhoneIdentity, origin: Origin) -> Registration:
    """Give a phone an id, a secret and a claim code; registering again returns the same until they are used. Device
    UUIDs are not secret, and knowing one must not allow anybody to take over or block a phone: with another push token
    the registration gets its own secret and code and waits, while the known phone continues. Raises
    TooManyRegistrations if too many new phones or tokens come from one IP address.
    """
    phones = lock_phones(tx, channel.c.device_uuid == phone.device_uuid)
    same = next((each for each in phones if each.push_token == phone.push_token), None)
    if same is not None:
        return _register_again(tx, same, phone)
    waiting = find_waiting(tx, [each.id for each in phones])
    again = next((each for each in waiting if each.push_token == phone.push_token), None)
    if again is not None:
        note_waiting_seen(tx, again)
        return Registration(again.channel_id, again.secret, again.claim_code)
    count_registration(tx, origin)
    return _let_wait(tx, phones[0].id, phone) if phones else _create_phone(tx, phone)


def lock_phones(tx: Transaction, condition: ColumnElement[bool]) -> list[Phone]:
    """The active phones that meet a condition, locked until the transaction ends, in the order of ids."""
    return [Phone(*row) for row in tx.execute(_PHONES.where(condition).with_for_update())]


def lock_phones_of(tx: Transaction, channel_id: int) -> list[Phone]:
    """The active phones that sync with an id, the phone of the id first; locked until the transaction ends, so that
    the syncs of a phone run one after another, while messages may be created for them. There are several if
    registrations with other push tokens were claimed elsewhere."""
    return [Phone(*row) for row in tx.execute(_SYNCING, {"named": channel_id})]


_PHONES = select(*columns_for(Phone, channel)).where(channel.c.is_active, IS_RELAYER).order_by(channel.c.id)
_NAMED = (channel.c.id == bindparam("named")) | (channel.c.parted_from_id == bindparam("named"))
_SYNCING = _PHONES.where(_NAMED).with_for_update(key_share=True)
"""Built once, because each sync begins with it; secrets keep it from being a fixed statement."""


def lock_waiting(tx: Transaction, condition: ColumnElement[bool]) -> list[WaitingRegistration]:
    """The waiting registrations that meet a condition, locked until the transaction ends, oldest first."""
    wanted = select(*columns_for(WaitingRegistration, waiting_registration)).where(condition)
    rows = tx.execute(wanted.order_by(waiting_registration.c.id).with_for_update())
    return [WaitingRegistration(*row) for row in rows]


def _create_phone(tx: Transaction, phone: PhoneIdentity) -> Registration:
    secret, claim_code = random_code(SECRET_LENGTH), random_code(CLAIM_CODE_LENGTH)
    channel_id = insert_phone(
        tx, device_uuid=phone.device_uuid, secret=secret, claim_code=claim_code, last_seen=tx.now, **_said(phone)
    )
    return Registration(channel_id, secret, claim_code)


def insert_phone(tx: Transaction, **values: Any) -> int:
    """Insert a channel for a phone, with these columns and those that all new phones have; returns its id."""
    return insert_channel(tx, RELAYER, schemes=list(TYPES[RELAYER].schemes), **values)


def _register_again(tx: Transaction, known: Phone, phone: PhoneIdentity) -> Registration:
    secret, claim_code = known.secret, known.claim_code or random_code(CLAIM_CODE_LENGTH)
    changes: dict[str, Any] = {**_said(phone), "last_seen": tx.now, "claim_code": claim_code}
    if secret is None or known.is_secret_used:
        secret = random_code(SECRET_LENGTH)
        changes |= {"secret": secret, "previous_secret": known.secret, "is_secret_used": False}
    tx.execute(update(channel).where(channel.c.id == known.id).values(**changes))
    return Registration(known.id, secret, claim_code)


def _let_wait(tx: Transaction, channel_id: int, phone: PhoneIdentity) -> Registration:
    made = Registration(channel_id, random_code(SECRET_LENGTH), random_code(CLAIM_CODE_LENGTH))
    values = {"channel_id": channel_id, "secret": made.secret, "claim_code": made.claim_code, "last_seen": tx.now}
    tx.execute(insert(waiting_registration).values(**values, **_said(phone)))
    return made


def _said(phone: PhoneIdentity) -> dict[str, Any]:
    said = {"push_token": phone.push_token, "country": phone.country, "device": phone.device, "os": phone.os}
    return {name: value for name, value in said.items() if value is not None}


def find_waiting(tx: Transaction, channel_ids: list[int]) -> list[WaitingRegistration]:
    """The waiting registrations of the same devices as these phones, oldest first."""
    return lock_waiting(tx, waiting_registration.c.channel_id.in_(channel_ids)) if channel_ids else []


def note_waiting_seen(tx: Transaction, waiting: WaitingRegistration) -> None:
    mine = waiting_registration.c.id == waiting.id
    tx.execute(update(waiting_registration).where(mine).values(last_seen=tx.now))


def swap_registrations(tx: Transaction, waiting: WaitingRegistration, phone: Phone) -> None:
    """Swap the registration of an unclaimed phone with the waiting one that is claimed."""
    mine = waiting_registration.c.id == waiting.id
    names = ("claim_code", "secret", "push_token", "country", "device", "os", "last_seen")
    tx.execute(update(waiting_registration).where(mine).values({name: getattr(phone, name) for name in names}))


def drop_waiting(tx: Transaction, waiting: WaitingRegistration) -> None:
    tx.execute(delete(waiting_registration).where(waiting_registration.c.id == waiting.id))


def trim_registrations(tx: Transaction, limit: int) -> int:
    """Deletes unclaimed registrations whose phones were not seen for KEPT_FOR; returns their number."""
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
