"""Channels: Android phones and external gateways; the table and the v2 record."""

from typing import Any

from sqlalchemy import Boolean, Column, Float, Index, Integer, String, Table, Text, insert, select, text

from persistence.columns import Json, id_column, metadata, new_uuid, time_column, uuid_column, workspace_column
from persistence.database import Transaction
from persistence.pages import Order, Page, Position, fetch_page
from persistence.sealed_columns import sealed_column, sealed_json_column
from persistence.shapes import declare_record, json_record_or_null

ANDROID = "android"
EXTERNAL = "external"

channel = Table(
    "channel",
    metadata,
    id_column(),
    uuid_column(),
    workspace_column(nullable=True),
    Column("type", String(16), nullable=False),
    Column("name", String(64)),
    Column("address", String(255)),
    Column("country", String(2)),
    Column("schemes", Json, nullable=False),
    Column("is_active", Boolean, nullable=False, default=True),
    time_column("created_on"),
    time_column("last_seen", nullable=True),
    # phones
    Column("device_uuid", String(64)),
    Column("claim_code", String(9), unique=True),
    sealed_column("channel", "secret"),
    sealed_column("channel", "previous_secret"),
    time_column("secret_rotated_on", nullable=True),
    Column("is_secret_used", Boolean, nullable=False, default=False),
    Column("parted_from_id", Integer),
    sealed_column("channel", "push_token"),
    Column("device", String(255)),
    Column("os", String(255)),
    Column("app_version", String(64)),
    Column("power_level", Integer, nullable=False, default=-1),
    Column("power_status", String(64)),
    Column("power_source", String(64)),
    Column("network_type", String(128)),
    Column("pending_count", Integer, nullable=False, default=0),
    Column("retry_count", Integer, nullable=False, default=0),
    # gateways
    sealed_json_column("channel", "config"),
    Column("messages_per_second", Float),
    time_column("paced_until", nullable=True),
    # delivery of channel events
    Column("webhook_url", Text),
    Column("webhook_events", Json),
    sealed_column("channel", "webhook_secret"),
    sealed_column("channel", "webhook_previous_secret"),
    time_column("webhook_rotated_on", nullable=True),
    Index("ix_channel_page", "workspace_id", "created_on", "id"),
    Index("ix_channel_seen", "workspace_id", "last_seen", "id"),
    Index("ix_channel_address", "workspace_id", "address"),
    Index(
        "uq_channel_device",
        "device_uuid",
        unique=True,
        postgresql_where=text("is_active AND parted_from_id IS NULL"),
        sqlite_where=text("is_active AND parted_from_id IS NULL"),
    ),
    Index("ix_channel_device", "device_uuid"),
    Index("ix_channel_parted_from", "parted_from_id"),
    sqlite_autoincrement=True,
)

"""A phone that registers anew keeps its secret until the new one is used (`previous_secret`). `parted_from_id` is the
phone under whose id and device uuid another one syncs, with a secret of its own (see `persistence.relayers`). Push
tokens are sealed because they let a phone register again; `config` holds how a gateway is called, its credentials
included. The `secret` of a gateway comes with its own calls; for a day after a rotation the one before counts too."""

CHANNEL_REF = {"uuid": channel.c.uuid, "name": channel.c.name}

CHANNEL_RECORD = declare_record(
    {
        "uuid": channel.c.uuid,
        "name": channel.c.name,
        "address": channel.c.address,
        "type": channel.c.type,
        "country": channel.c.country,
        "device": json_record_or_null(
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
        "created_on": channel.c.created_on,
    }
)

CHANNELS_ORDER = Order(channel.c.created_on, channel.c.id)


def list_channels(
    tx: Transaction,
    workspace_id: int,
    position: Position | None,
    size: int,
    *,
    uuid: str | None = None,
    address: str | None = None,
) -> Page:
    """The active channels of a workspace, newest first."""
    conditions = [channel.c.workspace_id == workspace_id, channel.c.is_active]
    if uuid is not None:
        conditions.append(channel.c.uuid == uuid)
    if address is not None:
        conditions.append(channel.c.address == address)
    return fetch_page(
        tx,
        record=CHANNEL_RECORD,
        source=channel,
        source_id=channel.c.id,
        order=CHANNELS_ORDER,
        conditions=conditions,
        position=position,
        size=size,
    )


def is_channel_active(tx: Transaction, workspace_id: int, channel_id: int) -> bool:
    """Whether a channel of the workspace can be used."""
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.id == channel_id) & channel.c.is_active
    return tx.execute(select(channel.c.id).where(mine)).first() is not None


def create_external_channel(
    tx: Transaction,
    workspace_id: int,
    *,
    name: str,
    address: str,
    schemes: list[str],
    country: str | None,
    config: dict[str, Any],
    secret: str,
    messages_per_second: float | None = None,
) -> str:
    """A gateway that sends by HTTP, with the secret that its own calls bring; returns its uuid."""
    uuid = new_uuid()
    limits = {"messages_per_second": messages_per_second, "secret": secret}
    values = {
        **limits,
        "uuid": uuid,
        "type": EXTERNAL,
        "name": name,
        "address": address,
        "schemes": schemes,
        "config": config,
    }
    state = {"is_active": True, "is_secret_used": False, "power_level": -1, "pending_count": 0, "retry_count": 0}
    times = {"created_on": tx.now, "country": country}
    tx.execute(insert(channel).values(workspace_id=workspace_id, **values, **state, **times))
    return uuid
