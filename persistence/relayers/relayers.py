"""Android phones as channels of workspaces: registration, claiming and release (relayer protocol, sections 6, 15, 16),
and how v1 shows them.
"""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, bindparam, delete, insert, select

from channels.types import RELAYER, TYPES
from flows.phones import PhoneError, country_of, parse_number
from flows.typed import plain
from persistence.broadcasts.records import IS_UNFINISHED
from persistence.changes import note_changed
from persistence.channels.channels import IS_RELAYER, insert_channel, note_arrival, note_departure
from persistence.channels.event_form import Source
from persistence.channels.health import close_alarms
from persistence.channels.terms import NO_TERMS
from persistence.contacts.urns import normalize_numbers
from persistence.database import Transaction
from persistence.deletions import CHANNEL, note_deleted
from persistence.deliveries.outbox import follow_replacement
from persistence.deliveries.settings import end_trouble
from persistence.errors import InvalidInput, RecordMissing, Refused
from persistence.lists import ListQuery, ListSpec, one_of, within
from persistence.messages.routes import Leaving, choose_successors, hand_over_unsent
from persistence.pages import Order
from persistence.records import Record
from persistence.relayers.commands import via_of
from persistence.secrets.encryption import open_or_none, sealed_text
from persistence.sql.columns import columns_for
from persistence.stamps import changes_of
from persistence.statements import update
from persistence.tables.campaigns import trigger
from persistence.tables.channels import CLAIM, CLAIM_CODE_LENGTH, channel, waiting_registration
from persistence.tables.contacts import contact_urn
from persistence.tables.messages import PENDING_COUNT, broadcast, template_translation
from persistence.tokens import Origin, count_registration
from persistence.triggers.records import archive_triggers_of_channels
from persistence.workspaces.records import Workspace, hold_workspace

_RECEIVER = ("webhook_url", "webhook_events", "webhook_secret", "webhook_previous_secret", "webhook_rotated_on")
_CHOICES = ("allow_international", *NO_TERMS)
LEFT_BEHIND: dict[str, Any] = dict.fromkeys(("name", *_RECEIVER))
"""The columns that are cleared when another workspace claims a phone: events of the new workspace are not for the
old one's receiver."""

RELAYER_RECORD = Record(
    {
        "relayer": channel.c.id,
        "phone": channel.c.address,
        "name": channel.c.name,
        "country": channel.c.country,
        "last_seen": channel.c.last_seen,
        "power_level": channel.c.power_level,
        "power_status": channel.c.power_status,
        "power_source": channel.c.power_source,
        "network_type": channel.c.network_type,
        "pending_message_count": PENDING_COUNT,
    }
)

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
SECRET_LENGTH = 64
KEPT_FOR = timedelta(days=90)
"""How long an unclaimed registration is kept after its phone was last seen."""
MOST_RELEASED = 20
"""Of the released phones that synced with the id of another one: so many are still told that they are."""
_BETWEEN_GROUPS = re.compile(r"[\W_]+")
_NAMED = (channel.c.id == bindparam("named")) | (channel.c.parted_from_id == bindparam("named"))


class Claim(NamedTuple):
    """The channel of a claimed phone, and what is told of the phone that it has replaced, if any: which one it was, and
    what became of its unsent messages."""

    channel_id: int
    replaced: dict[str, Any] | None

    @property
    def told(self) -> dict[str, Any]:
        """What a response tells besides the phone."""
        return {} if self.replaced is None else {"replaced": self.replaced}


def claim_phone(
    tx: Transaction, workspace: Workspace, claim_code: str, number: str, name: str | None, *, is_second: bool = False
) -> Claim:
    """Attach the phone that shows this code to the workspace with its number. It replaces the phone of the workspace
    that has this number, unless it `is_second`. Raises InvalidInput for `claim_code` or `phone`. Contact numbers
    without a country code are normalized again. A waiting registration with the device UUID of another workspace's
    phone becomes a separate phone: the device UUID proves nothing, so the other workspace keeps its phone.
    """
    hold_workspace(tx, workspace.id)  # Two claims of one number: the second phone replaces the first.
    phone, waiting = _find_claimed(tx, read_claim_code(claim_code))
    said = phone if waiting is None else waiting
    address = read_own_number(number, said.country)
    country = said.country or country_of(address) or None
    former = None if is_second else _find_former(tx, workspace.id, address, phone)
    changes: dict[str, Any] = {"workspace_id": workspace.id, "claim_code": None, "address": address, "country": country}
    if former is not None:
        changes |= former.inherited
    if name is not None:
        changes["name"] = name
    if waiting is not None:
        changes |= {"secret": waiting.secret, "push_token": waiting.push_token, "is_secret_used": False}
        changes |= {
            "push_via": via_of(waiting.push_token),
            "previous_secret": None,
            "device": waiting.device,
            "os": waiting.os,
        }
    channel_id = phone.id
    if waiting is not None and phone.workspace_id not in (None, workspace.id):
        drop_waiting(tx, waiting)
        own = {"device_uuid": phone.device_uuid, "parted_from_id": phone.parted_from_id or phone.id}
        channel_id = insert_phone(tx, **changes | own, last_seen=tx.now)
        note_changed(tx, channel, workspace.id, [channel_id])
    else:
        _hand_over(tx, phone, waiting, workspace.id, changes)
    replaced = None if former is None else _replace(tx, workspace.id, former, channel_id)
    changes_of(tx, workspace.id).phones[channel_id] = CLAIM
    normalize_numbers(tx, workspace.id, workspace.country or country or "")
    return Claim(channel_id, replaced)


def read_claim_code(text: str) -> str:
    """A claim code as people type it: in groups (the app shows `GGU 89G YQH`), in small letters, with hyphens, with
    what keyboards and copying add."""
    return _BETWEEN_GROUPS.sub("", plain(text)).upper()


def read_own_number(text: str, country: str | None) -> str:
    """A phone's own number in E.164 form. Raises InvalidInput if it is not a possible number."""
    for form in (text, as_e164(text)):
        try:
            return parse_number(form, country or "")
        except PhoneError:
            continue
    raise InvalidInput.on("phone", "Not a possible phone number.")


def as_e164(text: str) -> str:
    """A number with its `+`, also if that is missing or, unescaped in a query, has become a space."""
    return "+" + text.strip().lstrip("+")


class Released(NamedTuple):
    """The ids of released channels, and what became of their unsent messages."""

    ids: list[int]
    unsent: Leaving


def release_channels(
    tx: Transaction, workspace_id: int, condition: ColumnElement[bool], *, tells_phones: bool = True
) -> Released:
    """Release the workspace's active channels that meet a condition. What waits for them goes by others
    (`hand_over_unsent`), as broadcasts do that were to go by them. Phones are pushed, unless they know it already."""
    hold_workspace(tx, workspace_id)  # Two releases: each sees the channels that the other one leaves.
    mine = (channel.c.workspace_id == workspace_id) & channel.c.is_active & condition
    found = select(channel.c.id, sealed_text(channel.c.push_token)).where(mine).order_by(channel.c.id)
    serving = _hold_broadcasts(tx, workspace_id, tx.execute(found).scalars().all())
    leaving = {row[0]: row[1] for row in tx.execute(found.with_for_update())}
    if tells_phones:
        _note_farewells(tx, workspace_id, leaving)
    for channel_id, to_id in choose_successors(tx, workspace_id, serving.intersection(leaving), leaving).items():
        _redirect(tx, workspace_id, channel_id, to_id)
    gone: dict[str, Any] = {"is_active": False, "push_token": None, "push_via": None, "claim_code": None}
    statement = update(channel).where(mine).values(**gone).returning(channel.c.id, channel.c.uuid)
    rows = tx.execute(statement).all()
    released = [row.id for row in rows]
    note_deleted(tx, workspace_id, CHANNEL, [row.uuid for row in rows])
    note_changed(tx, channel, workspace_id, released)
    tx.execute(delete(waiting_registration).where(waiting_registration.c.channel_id.in_(released)))
    return Released(released, _leave(tx, workspace_id, released))


def _note_farewells(tx: Transaction, workspace_id: int, tokens: Mapping[int, str | None]) -> None:
    for channel_id, sealed in tokens.items():
        token = None if sealed is None else open_or_none(tx.dialect, channel.c.push_token, sealed)
        via = via_of(token)
        if token is not None and via is not None:
            changes_of(tx, workspace_id).farewells[channel_id] = (via, token)


def release_channel(tx: Transaction, workspace_id: int, uuid: str) -> Leaving:
    """Release an active channel. Raises RecordMissing."""
    released = release_channels(tx, workspace_id, channel.c.uuid == uuid)
    if not released.ids:
        raise RecordMissing
    return released.unsent


RELAYERS = ListSpec(
    channel,
    RELAYER_RECORD,
    Order(channel.c.last_seen, channel.c.id),
    standing=[channel.c.is_active, IS_RELAYER],
    filters={
        "relayer": one_of(channel.c.id),
        "phone": lambda _query, phones: channel.c.address.in_([as_e164(phone) for phone in phones]),
        "country": lambda _query, countries: channel.c.country.in_([country.upper() for country in countries]),
        **within(channel.c.last_seen),
    },
)


def release_relayers(query: ListQuery) -> Leaving:
    """Release the active phones that match, as `release_channels` does. Raises Refused for a query without filters, so
    that a mistake cannot release all phones, and RecordMissing if no phone matches.
    """
    if not query.values:
        raise Refused("One of these parameters is required: after, before, country, phone, relayer.")
    released = release_channels(query.tx, query.workspace.id, and_(IS_RELAYER, *RELAYERS.asked(query)))
    if not released.ids:
        raise RecordMissing
    return released.unsent


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
    return [Phone(*row) for row in tx.execute(_LOCK_NAMED, {"named": channel_id})]


def find_released_secrets(tx: Transaction, channel_id: int) -> Sequence[str]:
    """The secrets of the phones that synced with the id of another one and were released, the newest first."""
    parted = (channel.c.parted_from_id == channel_id) & ~channel.c.is_active & channel.c.secret.is_not(None)
    newest = select(channel.c.secret).where(parted).order_by(channel.c.id.desc()).limit(MOST_RELEASED)
    return tx.execute(newest).scalars().all()


_PHONES = select(*columns_for(Phone, channel)).where(channel.c.is_active, IS_RELAYER).order_by(channel.c.id)
_LOCK_NAMED = _PHONES.where(_NAMED).with_for_update(key_share=True)
"""Built once, because each sync begins with it; secrets keep it from being declared as one."""


def lock_waiting(tx: Transaction, condition: ColumnElement[bool]) -> list[WaitingRegistration]:
    """The waiting registrations that meet a condition, locked until the transaction ends, oldest first."""
    wanted = select(*columns_for(WaitingRegistration, waiting_registration)).where(condition)
    rows = tx.execute(wanted.order_by(waiting_registration.c.id).with_for_update())
    return [WaitingRegistration(*row) for row in rows]


def insert_phone(tx: Transaction, **values: Any) -> int:
    """Insert a channel for a phone, with these columns and those that all new phones have; returns its id."""
    return insert_channel(tx, RELAYER, schemes=list(TYPES[RELAYER].schemes), **values)


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
    left = LEFT_BEHIND | NO_TERMS | {"allow_international": False}
    tx.execute(update(channel).where(channel.c.id == phone.id).values(**left | changes))
    note_changed(tx, channel, workspace_id, [phone.id])
    _leave(tx, former_id, [phone.id])
    close_alarms(tx, phone.id)
    end_trouble(tx, channel_ids=[phone.id])


def _leave(tx: Transaction, workspace_id: int, channel_ids: Sequence[int]) -> Leaving:
    """End what depends on leaving channels: their unsent messages and the triggers that use only them."""
    unsent = hand_over_unsent(tx, workspace_id, channel_ids)
    archive_triggers_of_channels(tx, workspace_id, channel_ids)
    return unsent


@dataclass(frozen=True, slots=True)
class _Former:
    """The phone that is replaced, and the columns that the new one gets from it."""

    id: int
    uuid: str
    name: str | None
    inherited: dict[str, Any]
    is_for_new: bool

    @property
    def gives_receiver(self) -> bool:
        return "webhook_url" in self.inherited


def _find_former(tx: Transaction, workspace_id: int, address: str, phone: Phone) -> _Former | None:
    """The phone of the workspace that has this number, locked; of several the one that was not seen for longest. A
    phone that the workspace has already keeps its name and receiver if it has them.
    """
    rows = channel.c
    mine = (rows.workspace_id == workspace_id) & rows.is_active & IS_RELAYER
    known = mine & (rows.address == address) & (rows.id != phone.id)
    oldest = select(rows.id).where(known).order_by(rows.last_seen.asc().nulls_first(), rows.id).limit(1)
    former_id = tx.execute(oldest).scalar_one_or_none()
    if former_id is None:
        return None
    _hold_broadcasts(tx, workspace_id, [former_id])
    columns = ("id", "uuid", "name", *_CHOICES, *_RECEIVER)
    held = (
        select(*(rows[name] for name in columns))
        .where(mine, rows.id.in_([former_id, phone.id]))
        .order_by(rows.id)
        .with_for_update()
    )
    found = {row["id"]: row for row in tx.execute(held).mappings()}
    former, own = found.get(former_id), found.get(phone.id)
    if former is None:
        return None
    inherited: dict[str, Any] = {}
    if own is None:
        inherited |= {name: former[name] for name in _CHOICES}
    if own is None or own["name"] is None:
        inherited["name"] = former["name"]
    if own is None or own["webhook_url"] is None:
        inherited |= {name: former[name] for name in _RECEIVER}
    return _Former(former_id, former["uuid"], former["name"], inherited, is_for_new=own is None)


def _replace(tx: Transaction, workspace_id: int, former: _Former, channel_id: int) -> dict[str, Any]:
    """Give a phone what depends on the one that it replaces, which is released: the contacts whom it reached, its
    triggers, broadcasts that go by it, the receiver of its events, and messages that it has not got yet.
    """
    moved = {"channel_id": channel_id}
    tables = [contact_urn, *([trigger, template_translation] if former.is_for_new else [])]
    for table in tables:
        theirs = (table.c.workspace_id == workspace_id) & (table.c.channel_id == former.id)
        tx.execute(update(table).where(theirs).values(moved))
    _redirect(tx, workspace_id, former.id, channel_id)
    if former.gives_receiver:
        follow_replacement(tx, workspace_id, former.id, channel_id)
    unsent = hand_over_unsent(tx, workspace_id, [former.id], to_id=channel_id)
    release_channels(tx, workspace_id, channel.c.id == former.id)
    named = {"relayer": former.id, "uuid": former.uuid, "name": former.name}
    return named | unsent._asdict()


def _hold_broadcasts(tx: Transaction, workspace_id: int, channel_ids: Sequence[int]) -> set[int]:
    """Lock the broadcasts that are to go by these channels, before the channels, as the worker does that makes their
    messages; returns those of the channels that have any."""
    mine = (broadcast.c.workspace_id == workspace_id) & broadcast.c.channel_id.in_(channel_ids) & IS_UNFINISHED
    held = select(broadcast.c.channel_id).where(mine).order_by(broadcast.c.id).with_for_update()
    return {channel_id for channel_id in tx.execute(held).scalars() if channel_id is not None}


def _redirect(tx: Transaction, workspace_id: int, channel_id: int, to_id: int) -> None:
    """Broadcasts that are to go by one channel go by another."""
    mine = (broadcast.c.workspace_id == workspace_id) & (broadcast.c.channel_id == channel_id) & IS_UNFINISHED
    tx.execute(update(broadcast).where(mine).values(channel_id=to_id))


def _create_phone(tx: Transaction, phone: PhoneIdentity) -> Registration:
    secret, claim_code = random_code(SECRET_LENGTH), random_code(CLAIM_CODE_LENGTH)
    channel_id = insert_phone(
        tx,
        device_uuid=phone.device_uuid,
        secret=secret,
        claim_code=claim_code,
        last_seen=tx.now,
        push_via=via_of(phone.push_token),
        **_said(phone),
    )
    return Registration(channel_id, secret, claim_code)


def _register_again(tx: Transaction, known: Phone, phone: PhoneIdentity) -> Registration:
    secret, claim_code = known.secret, known.claim_code or random_code(CLAIM_CODE_LENGTH)
    changes: dict[str, Any] = {
        **_said(phone),
        "push_via": via_of(phone.push_token),
        "last_seen": tx.now,
        "claim_code": claim_code,
    }
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


def _trim_unclaimed(tx: Transaction, limit: int) -> int:
    rows = channel.c
    has_waiting = select(waiting_registration.c.id).where(waiting_registration.c.channel_id == rows.id).exists()
    is_old = rows.workspace_id.is_(None) & (rows.last_seen < tx.now - KEPT_FOR) & ~has_waiting
    old = select(rows.id).where(is_old).order_by(rows.id).limit(limit).with_for_update(skip_locked=True)
    return tx.execute(delete(channel).where(rows.id.in_(list(tx.execute(old).scalars())))).rowcount
