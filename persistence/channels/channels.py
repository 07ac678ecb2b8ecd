"""Channels, phones that relay and gateways, as v2 shows them, with the URL to which the events of each are sent. What
kind of channel a row is and when a phone counts as lost, many modules ask here.

A phone keeps its row when it moves to another workspace. Old records show its state at the time when it left and
nothing of the new owner: lists join channels by `join_channels`, which finds nothing of other workspaces.
"""

import base64
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    FromClause,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    null,
    select,
    true,
)

from channels.types import GATEWAYS, RELAYERS, TYPES
from persistence.changes import note_changed
from persistence.channels.event_form import CHANNEL_EVENTS
from persistence.channels.terms import COLUMNS, show_terms
from persistence.database import Transaction
from persistence.deliveries.outbox import follow_channel
from persistence.deliveries.settings import Endpoint, end_trouble, switch_on
from persistence.errors import InvalidInput, RecordMissing
from persistence.lists import ListSpec, by_change, changed_after, equals, stamped_on
from persistence.pages import Order
from persistence.records import Record, optional
from persistence.secrets.encryption import open_or_none, sealed_text
from persistence.sql.columns import is_uuid, new_uuid
from persistence.sql.names import name_key
from persistence.statements import update
from persistence.tables.channels import channel, former_channel
from persistence.tables.deliveries import webhook_trouble
from relayboard.base.addresses import Network, may_be_called

MOST_NAMED = 5

_REFUSED_SINCE = channel.c.refused_on > func.coalesce(channel.c.last_seen, channel.c.created_on)
REFUSED: tuple[ColumnElement[datetime | None], ColumnElement[str | None]] = (
    case((_REFUSED_SINCE, channel.c.refused_on), else_=null()),
    case((_REFUSED_SINCE, channel.c.refused_reason), else_=null()),
)
"""When a phone was refused last, and why, if no sync succeeded since."""

CHANNEL_RECORD = Record(
    {
        "uuid": channel.c.uuid,
        "name": channel.c.name,
        "address": channel.c.address,
        "type": channel.c.type,
        "country": channel.c.country,
        "device": optional(
            channel.c.device_uuid,
            {
                "name": channel.c.device,
                "power_level": channel.c.power_level,
                "power_status": channel.c.power_status,
                "power_source": channel.c.power_source,
                "network_type": channel.c.network_type,
            },
        ),
        "last_seen": channel.c.last_seen,
        "down_since": channel.c.down_since,
        "refused_on": REFUSED[0],
        "refused_reason": REFUSED[1],
        "created_on": channel.c.created_on,
        "modified_on": stamped_on(channel),
    }
)

CHANNELS = ListSpec(
    channel,
    CHANNEL_RECORD,
    by_change(Order(channel.c.created_on, channel.c.id)),
    standing=[channel.c.is_active],
    is_followed=True,
    filters={
        "uuid": equals(channel.c.uuid),
        "address": equals(channel.c.address),
        "modified_after": changed_after(channel),
    },
)

SECRET_BYTES = 32
URL_LENGTH = 2048

PRIVATE = "This address is on a private network. The operator can allow it: RELAYBOARD_WEBHOOK_ALLOWED_NETWORKS."
Networks = Sequence[Network] | None
"""The private networks that may be called; None where nobody asks, because a program sets the URL."""

LOST_AFTER = timedelta(minutes=30)

KEPT = (
    *("uuid", "name", "address", "webhook_url", "webhook_events"),
    *("webhook_secret", "webhook_previous_secret", "webhook_rotated_on"),
)

SEEN_ID: ColumnElement[Any] = func.coalesce(channel.c.id, former_channel.c.channel_id)
SEEN_UUID: ColumnElement[Any] = func.coalesce(channel.c.uuid, former_channel.c.uuid)
SEEN_NAME: ColumnElement[Any] = func.coalesce(channel.c.name, former_channel.c.name)
SEEN_ADDRESS: ColumnElement[Any] = func.coalesce(channel.c.address, former_channel.c.address)
SEEN_REF = {"uuid": SEEN_UUID, "name": SEEN_NAME}
"""A channel as the workspace knows or knew it, in a source made by `join_channels`; a workspace has either the
channel or its former state."""


def list_channel_facts(tx: Transaction, workspace_id: int, uuid: str | None = None) -> list[dict[str, Any]]:
    """The active channels of a workspace for operators, each with its webhook, oldest first; only one with `uuid`."""
    trouble = webhook_trouble.c
    of_it = (trouble.channel_id == channel.c.id) & (trouble.workspace_id == channel.c.workspace_id)
    statement = (
        select(channel.c.uuid, channel.c.id, channel.c.type, channel.c.name, channel.c.address, channel.c.last_seen)
        .add_columns(
            channel.c.country,
            func.coalesce(channel.c.allow_international, true()).label("allow_international"),
            channel.c.webhook_url,
            trouble.switched_off_on.label("webhook_switched_off_on"),
            trouble.reason.label("webhook_switched_off_reason"),
            *(column.label(name) for name, column in COLUMNS.items()),
        )
        .select_from(channel.outerjoin(webhook_trouble, of_it))
        .where((channel.c.workspace_id == workspace_id) & channel.c.is_active)
    )
    chosen = statement if uuid is None else statement.where(channel.c.uuid == uuid)
    return [facts | show_terms(facts) for facts in map(dict, tx.execute(chosen.order_by(channel.c.id)).mappings())]


def read_claimed(tx: Transaction, workspace_id: int, channel_id: int) -> dict[str, Any]:
    """The description of a phone that was just claimed."""
    columns = (channel.c.uuid, channel.c.id, channel.c.name, channel.c.address, channel.c.country)
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.id == channel_id)
    return dict(tx.execute(select(*columns).where(mine)).mappings().one())


def find_channel_owner(tx: Transaction, uuid: str) -> tuple[int, str] | None:
    """The workspace that has claimed a channel, even if it is released now, and the channel's type."""
    statement = select(channel.c.workspace_id, channel.c.type).where(channel.c.uuid == uuid)
    row = tx.execute(statement).first() if is_uuid(uuid) else None
    if row is None:
        return None
    workspace_id, channel_type = row
    return None if workspace_id is None else (workspace_id, channel_type)


def find_channel_workspace(tx: Transaction, uuid: str) -> int | None:
    """The workspace that has claimed a channel, even if it is released now."""
    found = find_channel_owner(tx, uuid)
    return None if found is None else found[0]


def find_channels_named(tx: Transaction, workspace_id: int, name: str) -> list[str]:
    """The UUIDs of active channels with this name, in any case, or address."""
    mine = (channel.c.workspace_id == workspace_id) & channel.c.is_active
    rows = tx.execute(select(channel.c.uuid, channel.c.name, channel.c.address).where(mine).order_by(channel.c.id))
    wanted = name_key(name.strip())
    found = [uuid for uuid, *names in rows if wanted in [name_key(each) for each in names if each]]
    return found[:MOST_NAMED]


def is_channel_active(tx: Transaction, workspace_id: int, channel_id: int) -> bool:
    """Whether a channel of the workspace can be used."""
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.id == channel_id) & channel.c.is_active
    return tx.execute(select(channel.c.id).where(mine)).first() is not None


def insert_channel(tx: Transaction, channel_type: str, **values: Any) -> int:
    """Insert a channel with these columns and those that all new channels have; returns its id."""
    state = {"uuid": new_uuid(), "type": channel_type, "created_on": tx.now, "is_active": True, "is_secret_used": False}
    counts = {"power_level": -1, "pending_count": 0, "retry_count": 0, "allow_international": False}
    return tx.execute(insert(channel).values(state | counts | values).returning(channel.c.id)).scalar_one()


def create_gateway(tx: Transaction, workspace_id: int, channel_type: str, **values: Any) -> str:
    """Create a gateway of a type; returns its UUID. `values` are its name, address, country, schemes, secret (for its
    own calls), config (by the type's settings) and messages_per_second, by column name.
    """
    uuid = new_uuid()
    if TYPES[channel_type].templates is not None:
        values["templates_due_on"] = tx.now
        tx.wake("templates")
    channel_id = insert_channel(tx, channel_type, uuid=uuid, workspace_id=workspace_id, **values)
    note_changed(tx, channel, workspace_id, [channel_id])
    return uuid


def rename_channel(tx: Transaction, workspace_id: int, uuid: str, name: str) -> None:
    """Rename an active channel; `name` is checked (`check_name`). Raises RecordMissing."""
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == uuid) & channel.c.is_active
    channel_id = tx.execute(select(channel.c.id).where(mine).with_for_update(key_share=True)).scalar_one_or_none()
    if channel_id is None:
        raise RecordMissing
    tx.execute(update(channel).where(mine).values(name=name))
    note_changed(tx, channel, workspace_id, [channel_id])


def new_webhook_secret() -> str:
    """A signing secret in the form of Standard Webhooks: `whsec_` and base64."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def check_webhook_url(url: str, field: str = "url", networks: Networks = None) -> str:
    """The URL without white space around it; raises InvalidInput for a URL that can never be called."""
    url = url.strip()
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_valid = False
    if not is_valid or any(character.isspace() or character < " " for character in url):
        raise InvalidInput.on(field, "Enter a URL that begins with http:// or https://.")
    if "@" in parts.netloc:
        raise InvalidInput.on(field, "The URL must not contain a user name or password.")
    if networks is not None and not may_be_called(parts.hostname or "", networks):
        raise InvalidInput.on(field, PRIVATE)
    if len(url) > URL_LENGTH:
        raise InvalidInput.on(field, f"At most {URL_LENGTH} characters.")
    return url


def set_channel_webhook(
    tx: Transaction,
    workspace_id: int,
    channel_uuid: str,
    url: str | None,
    events: Sequence[str] | None = None,
    networks: Networks = None,
) -> str | None:
    """Sets the delivery URL of a channel, or removes it, and its events (None: all); returns the secret that signs
    them. Pending events are sent to the new URL, or given up if there is none. The secret stays the same if only the
    URL or the events change. A receiver that was switched off because it failed for long is switched on. Raises
    RecordMissing, InvalidInput.
    """
    unknown = sorted(set(events or ()) - CHANNEL_EVENTS.keys())
    if unknown:
        raise InvalidInput.on("event", f"Unknown event: {unknown[0]}.")
    values: dict[str, Any] = {"webhook_url": None, "webhook_events": None}
    if url is not None:
        chosen = None if events is None else list(dict.fromkeys(events))
        values = {"webhook_url": check_webhook_url(url, networks=networks), "webhook_events": chosen}
    channel_id, secret = _lock(tx, workspace_id, channel_uuid)
    if url is not None and secret is None:
        secret = values["webhook_secret"] = new_webhook_secret()
    end_trouble(tx, channel_ids=[channel_id])
    tx.execute(update(channel).where(channel.c.id == channel_id).values(values))
    follow_channel(tx, workspace_id, channel_uuid, values["webhook_url"])
    return None if url is None else secret


def switch_on_webhook(tx: Transaction, workspace_id: int, channel_uuid: str) -> bool:
    """Switches on a delivery URL that failed for long, or clears its failures; returns whether it had failed. Raises
    RecordMissing.
    """
    channel_id, _ = _lock(tx, workspace_id, channel_uuid)
    return switch_on(tx, Endpoint(workspace_id, channel_id=channel_id))


def rotate_webhook_secret(tx: Transaction, workspace_id: int, channel_uuid: str) -> str:
    """Gives a channel a new secret, which is returned; for one day events are also signed with the old one."""
    channel_id, former = _lock(tx, workspace_id, channel_uuid)
    secret = new_webhook_secret()
    values = {"webhook_secret": secret, "webhook_previous_secret": former, "webhook_rotated_on": tx.now}
    tx.execute(update(channel).where(channel.c.id == channel_id).values(**values))
    return secret


def _listed(types: Sequence[str]) -> ColumnElement[bool]:
    listed: BindParameter[Any] = bindparam(None, list(types), expanding=True, literal_execute=True)
    return channel.c.type.in_(listed)


IS_RELAYER, IS_GATEWAY = _listed(RELAYERS), _listed(GATEWAYS)
IS_REFUSED = IS_RELAYER & channel.c.is_active & _REFUSED_SINCE


def join_channels(source: FromClause, records: FromClause) -> FromClause:
    """The source, joined with the channel of each record, as the record's own workspace knows or knew it."""
    is_mine = and_(channel.c.id == records.c.channel_id, channel.c.workspace_id == records.c.workspace_id)
    was_mine = and_(
        former_channel.c.channel_id == records.c.channel_id, former_channel.c.workspace_id == records.c.workspace_id
    )
    return source.outerjoin(channel, is_mine).outerjoin(former_channel, was_mine)


def note_departure(tx: Transaction, channel_id: int, workspace_id: int) -> str:
    """Store the state of a channel for the workspace that it is about to leave; returns its UUID."""
    kept = tx.execute(select(*(channel.c[name] for name in KEPT)).where(channel.c.id == channel_id)).mappings().one()
    values = {**kept, "left_on": tx.now}
    statement = tx.upsert(former_channel).values(channel_id=channel_id, workspace_id=workspace_id, **values)
    keys = [former_channel.c.channel_id, former_channel.c.workspace_id]
    tx.execute(statement.on_conflict_do_update(index_elements=keys, set_=values))
    uuid: str = kept["uuid"]
    return uuid


def note_arrival(tx: Transaction, channel_id: int, workspace_id: int) -> None:
    """Delete the former state of a channel for a workspace that has it again: from now on the channel's row counts."""
    rows = former_channel.c
    tx.execute(delete(former_channel).where(rows.channel_id == channel_id, rows.workspace_id == workspace_id))


def _lock(tx: Transaction, workspace_id: int, channel_uuid: str) -> tuple[int, str | None]:
    """The id and signing secret of a channel, whose row is locked: two concurrent changes must not create two
    secrets."""
    kept = channel.c.webhook_secret
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == channel_uuid) & channel.c.is_active
    statement = select(channel.c.id, sealed_text(kept)).where(mine).with_for_update()
    row = tx.execute(statement).first() if is_uuid(channel_uuid) else None
    if row is None:
        raise RecordMissing("No such channel.")
    channel_id, sealed = row
    # A secret that cannot be decrypted counts as none, so that setting a new one repairs it.
    return channel_id, open_or_none(tx.dialect, kept, sealed)
