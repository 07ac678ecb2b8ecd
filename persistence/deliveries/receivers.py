"""Receivers of webhooks: the delivery URLs of channels, the subscribers of resthooks, and subscriptions to events of a
workspace, as one resource. A receiver is named by the UUID of its channel or the id of its subscriber. What signs the
calls to it is here too, with pairs of Ed25519 keys in the form of Standard Webhooks: `whsk_` and `whpk_`, each with 32
bytes in base64.
"""

import base64
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, cast

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Column, Executable, Table, and_, null, or_, select, type_coerce, union_all

from persistence.channels.channels import Networks, new_webhook_secret, rotate_webhook_secret, set_channel_webhook
from persistence.channels.event_form import CONTENT_TYPE as FORM_TYPE
from persistence.channels.event_form import EventChannel, channel_fields, encode_form, encode_json
from persistence.database import Transaction
from persistence.deliveries.leases import DueDelivery
from persistence.deliveries.outbox import NewDelivery, give_up_waiting, record_deliveries
from persistence.deliveries.settings import Endpoint, change_settings, is_of, is_paced, set_pace, switch_on
from persistence.deliveries.subscriptions import IS_SUBSCRIPTION, change_subscription, write_body
from persistence.errors import InvalidInput, RecordMissing, Refused
from persistence.lists import Condition, ListQuery, ListSpec, never, read_record
from persistence.pages import Order
from persistence.records import Record, Shown, optional
from persistence.resthooks import CONTENT_TYPE as JSON_TYPE
from persistence.resthooks import find_subscribers_at
from persistence.secrets.encryption import open_or_none, sealed_text
from persistence.sql.columns import BigId, is_uuid, new_uuid, read_id, time_text
from persistence.statements import Statement, among, statement, update
from persistence.tables.channels import channel, former_channel
from persistence.tables.deliveries import (
    ED25519,
    FORM,
    JSON,
    SYMMETRIC,
    resthook,
    resthook_subscriber,
    webhook_receiver,
    webhook_trouble,
)
from persistence.tokens import Areas, check_area, covers
from persistence.workspaces.records import Workspace, find_workspace, hold_workspace

TEST_EVENT = "test"
LONGEST_SERIES_SECONDS = 3 * 24 * 3600
"""All retries of a delivery together."""
OVERLAP = timedelta(hours=24)
"""How long requests are also signed with a former secret; the worker's signing has the same rule."""
SWITCHED_OFF = "The receiver was switched off before this delivery."

_OF_ALL = resthook_subscriber.outerjoin(resthook, resthook.c.id == resthook_subscriber.c.resthook_id)
_CHANNELS = select(
    (channel.c.id * 2).label("id"),
    channel.c.workspace_id,
    channel.c.created_on,
    channel.c.id.label("channel_id"),
    channel.c.uuid.label("channel_uuid"),
    channel.c.name.label("channel_name"),
    type_coerce(null(), BigId).label("subscriber_id"),
    type_coerce(null(), resthook.c.slug.type).label("slug"),
    channel.c.webhook_url.label("url"),
    channel.c.webhook_events.label("events"),
    channel.c.webhook_rotated_on.label("rotated_on"),
).where(channel.c.is_active, channel.c.webhook_url.is_not(None))
_SUBSCRIBERS = select(
    (resthook_subscriber.c.id * 2 + 1).label("id"),
    resthook_subscriber.c.workspace_id,
    resthook_subscriber.c.created_on,
    null().label("channel_id"),
    null().label("channel_uuid"),
    null().label("channel_name"),
    resthook_subscriber.c.id.label("subscriber_id"),
    resthook.c.slug,
    resthook_subscriber.c.target_url.label("url"),
    resthook_subscriber.c.events,
    resthook_subscriber.c.webhook_rotated_on.label("rotated_on"),
).select_from(_OF_ALL)
receiver = cast("Table[Any]", union_all(_CHANNELS, _SUBSCRIBERS).subquery("receiver"))
"""Both kinds in one table; `id` is unique among both."""

_rows, _own, _trouble = receiver.c, webhook_receiver.c, webhook_trouble.c
_is_own = and_(
    _own.workspace_id == _rows.workspace_id,
    or_(_own.channel_id == _rows.channel_id, _own.subscriber_id == _rows.subscriber_id),
)
_is_in_trouble = and_(
    _trouble.workspace_id == _rows.workspace_id,
    or_(_trouble.channel_id == _rows.channel_id, _trouble.subscriber_id == _rows.subscriber_id),
)


def _show(row: Shown) -> Shown:
    """A receiver as the API shows it."""
    off_on = row["chosen_off_on"] or row["failed_off_on"]
    signature = row["signature"] or SYMMETRIC
    is_symmetric = signature == SYMMETRIC
    return {
        "receiver": str(row["subscriber"]) if row["channel"] is None else row["channel"]["uuid"],
        "kind": "channel" if row["channel"] else "subscription" if row["resthook"] is None else "subscriber",
        "channel": None if row["channel"] is None else row["channel"] | {"name": row["channel"]["name"] or ""},
        **{name: row[name] for name in ("resthook", "url", "events", "created_on")},
        **{name: row[name] for name in ("retry_delays_seconds", "requests_per_second")},
        "format": (row["format"] or FORM) if row["channel"] is not None else JSON,
        "signature": signature,
        "public_key": None if is_symmetric else row["public_key"],
        "secret_rotated_on": row["rotated_on"] if is_symmetric else row["key_rotated_on"],
        "health": "off" if off_on else "failing" if row["failing_since"] else "healthy",
        "failing_since": row["failing_since"],
        "given_up": row["given_up"] or 0,
        "switched_off_on": off_on,
        "switched_off_reason": None if row["chosen_off_on"] else row["reason"],
    }


RECEIVER_RECORD = Record(
    {
        "channel": optional(_rows.channel_id, {"uuid": _rows.channel_uuid, "name": _rows.channel_name}),
        "subscriber": _rows.subscriber_id,
        "resthook": _rows.slug,
        "url": _rows.url,
        "events": _rows.events,
        "created_on": _rows.created_on,
        "retry_delays_seconds": _own.retry_delays,
        "requests_per_second": _own.per_second,
        "signature": _own.signature,
        "format": _own.format,
        "public_key": _own.public_key,
        "key_rotated_on": _own.key_rotated_on,
        "rotated_on": _rows.rotated_on,
        "chosen_off_on": _own.switched_off_on,
        "failing_since": _trouble.began_on,
        "given_up": _trouble.given_up,
        "failed_off_on": _trouble.switched_off_on,
        "reason": _trouble.reason,
    },
    show=_show,
)


def check_receiver(tx: Transaction, workspace_id: int, areas: Areas, key: str) -> None:
    """Raises NotAllowed unless a token with these areas may change the receiver of this name: subscribers belong to
    flows, and a subscription, which may be to everything, to administration.
    """
    rows, area = resthook_subscriber.c, "flows" if key.isdecimal() else "channels"
    if areas is not None and key.isdecimal():
        mine = (rows.workspace_id == workspace_id) & (rows.id == read_id(key)) & IS_SUBSCRIPTION
        area = "flows" if tx.execute(select(rows.id).where(mine)).first() is None else "administration"
    check_area(areas, area)


def _is_receiver(_query: ListQuery, key: str) -> Condition:
    found: Condition = never(_rows.id)
    if is_uuid(key):
        found = _rows.channel_uuid == key.lower()
    elif key.isdecimal():
        found = _rows.subscriber_id == read_id(key)
    return found


def _in_areas(query: ListQuery) -> list[Condition]:
    if query.areas is None:
        return []
    theirs = [_rows.channel_id.is_not(None)] if covers(query.areas, "channels") else []
    theirs += [_rows.slug.is_not(None)] if covers(query.areas, "flows") else []
    is_subscription = _rows.subscriber_id.is_not(None) & _rows.slug.is_(None)
    theirs += [is_subscription] if covers(query.areas, "administration") else []
    return [or_(never(_rows.id), *theirs)]


RECEIVERS = ListSpec(
    receiver,
    RECEIVER_RECORD,
    Order(_rows.created_on, _rows.id),
    standing=_in_areas,
    source=receiver.outerjoin(webhook_receiver, _is_own).outerjoin(webhook_trouble, _is_in_trouble),
    filters={"receiver": _is_receiver},
)


@dataclass(frozen=True, slots=True)
class Receiver:
    """The present state of a receiver; a channel may have no URL. `slug` is that of a subscriber's resthook; a
    subscription has none.
    """

    endpoint: Endpoint
    uuid: str
    address: str | None
    slug: str
    url: str | None

    @property
    def is_subscription(self) -> bool:
        return self.endpoint.subscriber_id is not None and not self.slug

    @property
    def list_id(self) -> int:
        """Its id in the list of both kinds."""
        number = self.endpoint.number or 0
        return number * 2 if self.endpoint.kind == "channel" else number * 2 + 1


def find_receiver(tx: Transaction, workspace_id: int, key: str) -> Receiver:
    """The receiver of this name; channels are found without a URL, too. Raises RecordMissing."""
    if is_uuid(key):
        columns = (channel.c.id, channel.c.uuid, channel.c.address, channel.c.webhook_url)
        mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == key) & channel.c.is_active
        row = tx.execute(select(*columns).where(mine)).first()
        if row is not None:
            return Receiver(Endpoint(workspace_id, channel_id=row[0]), row[1], row[2], "", row[3])
    elif key.isdecimal():
        of_it = select(resthook_subscriber.c.id, resthook.c.slug, resthook_subscriber.c.target_url)
        mine = (resthook_subscriber.c.workspace_id == workspace_id) & (resthook_subscriber.c.id == read_id(key))
        found = tx.execute(of_it.select_from(_OF_ALL).where(mine)).first()
        if found is not None:
            return Receiver(Endpoint(workspace_id, subscriber_id=found[0]), "", None, found[1] or "", found[2])
    raise RecordMissing("No such receiver.")


def is_receiver(tx: Transaction, workspace_id: int, key: str) -> bool:
    """Whether a channel or a subscriber of the workspace has this name."""
    try:
        find_receiver(tx, workspace_id, key)
    except RecordMissing:
        return False
    return True


def write_receiver(
    tx: Transaction,
    workspace: Workspace,
    key: str,
    changes: Mapping[str, Any],
    networks: Networks = None,
    areas: Areas = None,
) -> str | None:
    """Changes settings of a receiver; absent ones stay. Returns its record as JSON text, None if it has no URL any
    more. Raises RecordMissing, InvalidInput, Refused for settings that need a URL, and NotAllowed for the URL and the
    events of a subscription to what a token with these areas may not read.
    """
    hold_workspace(tx, workspace.id)
    found = find_receiver(tx, workspace.id, key)
    if "url" in changes or "events" in changes:
        found = _set_target(tx, workspace.id, found, changes, networks, areas)
    given = changes.keys() - {"url", "events"}
    if found.url is None:
        if given or "url" not in changes:
            raise Refused("The channel has no delivery URL.")
        return None
    if "retry_delays_seconds" in changes:
        delays = _check_delays(changes["retry_delays_seconds"])
        change_settings(tx, found.endpoint, {"retry_delays": delays})
    if "requests_per_second" in changes:
        set_pace(tx, found.endpoint, found.url, changes["requests_per_second"])
    if "format" in changes:
        _choose_format(tx, found.endpoint, changes["format"])
    if "signature" in changes:
        _choose_signature(tx, found.endpoint, changes["signature"])
    if "is_on" in changes:
        _switch(tx, found.endpoint, is_on=changes["is_on"])
    return read_record(tx, RECEIVERS, workspace, found.list_id)


def rotate_secret(tx: Transaction, workspace_id: int, key: str) -> dict[str, Any]:
    """Gives a receiver a new secret or pair of keys; returns what it needs to verify signatures. For one day requests
    are also signed with the former one. Raises RecordMissing, and Refused for a channel without a delivery URL.
    """
    hold_workspace(tx, workspace_id)
    found = find_receiver(tx, workspace_id, key)
    if found.url is None:
        raise Refused("The channel has no delivery URL.")
    named = {"receiver": found.uuid or str(found.endpoint.number)}
    former_until = {"former_until": time_text(tx.now + OVERLAP)}
    signature = tx.execute(select(_own.signature).where(is_of(found.endpoint))).scalar()
    if signature == ED25519:
        public = _rotate_keys(tx, found.endpoint)
        return named | {"signature": ED25519, "secret": None, "public_key": public} | former_until
    if found.endpoint.subscriber_id is not None:
        secret = rotate_subscriber_secret(tx, workspace_id, found.endpoint.subscriber_id)
    else:
        secret = rotate_webhook_secret(tx, workspace_id, found.uuid)
    return named | {"signature": SYMMETRIC, "secret": secret, "public_key": None} | former_until


def send_test(tx: Transaction, workspace_id: int, key: str) -> str:
    """Makes a delivery of an event of the type `test`, even if the receiver is switched off; returns its UUID. Raises
    RecordMissing, and Refused for a channel without a delivery URL.
    """
    hold_workspace(tx, workspace_id)
    found = find_receiver(tx, workspace_id, key)
    if found.url is None:
        raise Refused("The channel has no delivery URL.")
    limited = is_paced(tx, found.endpoint)
    channel_id, subscriber_id = found.endpoint.channel_id, found.endpoint.subscriber_id
    event_id: str | None = None
    if channel_id is not None:
        fields = channel_fields(TEST_EVENT, EventChannel(channel_id, found.uuid, found.address))
        form = tx.execute(select(_own.format).where(is_of(found.endpoint))).scalar()
        fields["time"] = tx.now
        kind, body = (JSON_TYPE, encode_json(fields)) if form == JSON else (FORM_TYPE, encode_form(fields))
    elif found.is_subscription:
        of = find_workspace(tx, workspace_id)
        assert of is not None, "it has this subscription"
        kind, event_id = JSON_TYPE, new_uuid()
        body = write_body(of.uuid, event_id, TEST_EVENT, tx.now, {})
    else:
        kind, body = JSON_TYPE, orjson.dumps({"event": TEST_EVENT, "resthook": found.slug, "time": time_text(tx.now)})
    test = NewDelivery(TEST_EVENT, found.url, kind, body, channel_id, subscriber_id, None, limited, event_id)
    return record_deliveries(tx, workspace_id, [test])[0]


@dataclass(frozen=True, slots=True)
class Signer:
    """The secrets of a delivery URL, and since when the current one is used; a damaged one cannot be decrypted. The
    same for its private keys, if it ever had any; `signature` says which of both sign now, and `chosen_on` since when.
    `retry_delays` in seconds are its own (None: those of the service).
    """

    secret: str | None
    previous_secret: str | None
    rotated_on: datetime | None
    is_damaged: bool = False
    signature: str = SYMMETRIC
    chosen_on: datetime | None = None
    private_key: str | None = None
    previous_private_key: str | None = None
    key_rotated_on: datetime | None = None
    retry_delays: tuple[float, ...] | None = None


def find_signers(tx: Transaction, leased: Sequence[DueDelivery]) -> dict[int, Signer]:
    """The secrets that sign these deliveries now, by delivery id; three statements at most."""
    from_channels = [each for each in leased if each.subscriber_id is None]
    by_channel = _read_signers(tx, channel.c.id, {each.channel_id for each in from_channels})
    moved = {each.channel_id for each in from_channels if (each.workspace_id, each.channel_id) not in by_channel}
    by_channel = _read_signers(tx, former_channel.c.channel_id, moved) | by_channel
    by_subscriber = _read_signers(tx, resthook_subscriber.c.id, {each.subscriber_id for each in leased})
    found = {
        each.id: by_channel.get((each.workspace_id, each.channel_id))
        if each.subscriber_id is None
        else by_subscriber.get((each.workspace_id, each.subscriber_id))
        for each in leased
    }
    return {delivery_id: signer for delivery_id, signer in found.items() if signer is not None}


Signers = dict[tuple[int, int | None], Signer]
"""By the workspace, and the id of the channel or subscriber."""


class _Row(NamedTuple):
    """What is read of a channel or subscriber; secrets as they are stored."""

    workspace_id: int
    key: int
    secret: Any
    previous: Any
    webhook_rotated_on: datetime | None
    signature: str | None
    signature_chosen_on: datetime | None
    private_key: Any
    previous_private_key: Any
    key_rotated_on: datetime | None
    retry_delays: Sequence[float] | None


def _selecting(key: Column[int]) -> Statement[[Sequence[int]]]:
    """Their rows by the ids in a column."""
    table, own = key.table, webhook_receiver.c
    owner = own.subscriber_id if table is resthook_subscriber else own.channel_id
    source = table.outerjoin(webhook_receiver, and_(owner == key, own.workspace_id == table.c.workspace_id))
    columns = (
        table.c.workspace_id,
        key,
        sealed_text(table.c.webhook_secret),
        sealed_text(table.c.webhook_previous_secret),
        table.c.webhook_rotated_on,
        own.signature,
        own.signature_chosen_on,
        sealed_text(own.private_key),
        sealed_text(own.previous_private_key),
        own.key_rotated_on,
        own.retry_delays,
    )

    @statement(is_prepared=False)
    def read(ids: Sequence[int]) -> Executable:
        return select(*columns).select_from(source).where(among(key, ids))

    return read


_READ = {key: _selecting(key) for key in (channel.c.id, former_channel.c.channel_id, resthook_subscriber.c.id)}


def find_subscriber_signer(tx: Transaction, workspace_id: int, slug: str, url: str) -> Signer | None:
    """The secrets of a resthook's subscriber at a URL."""
    ids = find_subscribers_at(tx, workspace_id, slug, [url])
    return _read_signers(tx, resthook_subscriber.c.id, ids).get((workspace_id, ids[0])) if ids else None


def read_subscriber_secret(tx: Transaction, workspace_id: int, subscriber_id: int) -> str:
    """The secret that signs calls to a subscriber. Raises RecordMissing, and Refused if it cannot be decrypted."""
    signer = _read_signers(tx, resthook_subscriber.c.id, [subscriber_id]).get((workspace_id, subscriber_id))
    if signer is None:
        raise RecordMissing("No such subscriber.")
    if signer.secret is None:
        raise Refused("The secret of this subscriber cannot be decrypted; give it a new one.")
    return signer.secret


def rotate_subscriber_secret(tx: Transaction, workspace_id: int, subscriber_id: int) -> str:
    """Gives a subscriber a new secret, which is returned; for one day calls are also signed with the old one.

    Raises RecordMissing.
    """
    mine = (resthook_subscriber.c.workspace_id == workspace_id) & (resthook_subscriber.c.id == subscriber_id)
    if tx.execute(select(resthook_subscriber.c.id).where(mine).with_for_update()).first() is None:
        raise RecordMissing("No such subscriber.")
    signer = _read_signers(tx, resthook_subscriber.c.id, [subscriber_id])[workspace_id, subscriber_id]
    secret = new_webhook_secret()
    values = {"webhook_secret": secret, "webhook_previous_secret": signer.secret, "webhook_rotated_on": tx.now}
    tx.execute(update(resthook_subscriber).where(mine).values(**values))
    return secret


def new_key_pair() -> tuple[str, str]:
    """A private key that signs, and the public key that verifies its signatures."""
    private = Ed25519PrivateKey.generate()
    seed, public = private.private_bytes_raw(), private.public_key().public_bytes_raw()
    return f"whsk_{base64.b64encode(seed).decode()}", f"whpk_{base64.b64encode(public).decode()}"


def _set_target(
    tx: Transaction, workspace_id: int, found: Receiver, changes: Mapping[str, Any], networks: Networks, areas: Areas
) -> Receiver:
    if found.is_subscription:
        change_subscription(tx, found.endpoint, changes, networks, areas)
        return find_receiver(tx, workspace_id, str(found.endpoint.number))
    if found.endpoint.subscriber_id is not None:
        name = "url" if "url" in changes else "events"
        raise InvalidInput.on(name, "A subscriber has the URL and the events that it subscribed.")
    url = changes.get("url", found.url)
    if url is None and "url" not in changes:
        raise Refused("The channel has no delivery URL.")
    events = changes.get("events") if "events" in changes else _read_events(tx, found.endpoint)
    set_channel_webhook(tx, workspace_id, found.uuid, url, events, networks if "url" in changes else None)
    return find_receiver(tx, workspace_id, found.uuid)


def _read_events(tx: Transaction, endpoint: Endpoint) -> Sequence[str] | None:
    mine = (channel.c.workspace_id == endpoint.workspace_id) & (channel.c.id == endpoint.channel_id)
    return tx.execute(select(channel.c.webhook_events).where(mine)).scalar_one()


def _check_delays(delays: Sequence[float] | None) -> list[float] | None:
    if delays is not None and sum(delays) > LONGEST_SERIES_SECONDS:
        raise InvalidInput.on("retry_delays_seconds", "All delays together are at most three days.")
    return None if delays is None else list(delays)


def _choose_format(tx: Transaction, endpoint: Endpoint, form: str) -> None:
    if endpoint.subscriber_id is None:
        change_settings(tx, endpoint, {"format": form})
    elif form != JSON:
        raise InvalidInput.on("format", "A subscriber gets JSON.")


def _choose_signature(tx: Transaction, endpoint: Endpoint, signature: str) -> None:
    own = tx.execute(select(_own.signature, _own.public_key).where(is_of(endpoint))).first()
    former, public_key = own or (SYMMETRIC, None)
    if signature == former:
        return
    if signature == ED25519 and public_key is None:
        _rotate_keys(tx, endpoint)
    change_settings(tx, endpoint, {"signature": signature, "signature_chosen_on": tx.now})


def _rotate_keys(tx: Transaction, endpoint: Endpoint) -> str:
    """Gives a receiver a new pair of keys; returns the public one."""
    private, public = new_key_pair()
    sealed = tx.execute(select(sealed_text(_own.private_key)).where(is_of(endpoint))).scalar()
    values = {"private_key": private, "public_key": public, "key_rotated_on": tx.now}
    former = open_or_none(tx.dialect, _own.private_key, sealed)
    change_settings(tx, endpoint, values | {"previous_private_key": former})
    return public


def _switch(tx: Transaction, endpoint: Endpoint, *, is_on: bool) -> None:
    if is_on:
        switch_on(tx, endpoint)
        return
    is_already = is_of(endpoint) & _own.switched_off_on.is_not(None)
    if tx.execute(select(_own.id).where(is_already)).first() is None:
        change_settings(tx, endpoint, {"switched_off_on": tx.now})
    give_up_waiting(tx, endpoint, SWITCHED_OFF)


def _read_signers(tx: Transaction, key: Column[int], ids: Collection[int | None]) -> Signers:
    """The secrets of channels or subscribers; one that cannot be decrypted affects only its own receiver."""
    wanted = sorted(each for each in ids if each is not None)
    if not wanted:
        return {}
    secret, previous, own = key.table.c.webhook_secret, key.table.c.webhook_previous_secret, webhook_receiver.c
    signers: Signers = {}
    for row in map(_Row._make, _READ[key].rows(tx, wanted)):
        opened = open_or_none(tx.dialect, secret, row.secret)
        private_key = open_or_none(tx.dialect, own.private_key, row.private_key)
        signing, sealed = (opened, row.secret) if row.signature in (None, SYMMETRIC) else (private_key, row.private_key)
        signers[row.workspace_id, row.key] = Signer(
            opened,
            open_or_none(tx.dialect, previous, row.previous),
            row.webhook_rotated_on,
            is_damaged=sealed is not None and signing is None,
            signature=row.signature or SYMMETRIC,
            chosen_on=row.signature_chosen_on,
            private_key=private_key,
            previous_private_key=open_or_none(tx.dialect, own.previous_private_key, row.previous_private_key),
            key_rotated_on=row.key_rotated_on,
            retry_delays=None if row.retry_delays is None else tuple(row.retry_delays),
        )
    return signers
