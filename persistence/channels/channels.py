"""Channels: Android phones and external gateways; the table and the v2 record."""

from typing import Any

from sqlalchemy import insert, select

from persistence.database import Transaction
from persistence.lists import ListSpec, equals
from persistence.sql.columns import new_uuid
from persistence.sql.json_sql import declare_record, json_record_or_null
from persistence.sql.pages import Order
from persistence.tables.channels import channel

ANDROID = "android"
EXTERNAL = "external"

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

CHANNELS = ListSpec(
    channel,
    CHANNEL_RECORD,
    Order(channel.c.created_on, channel.c.id),
    standing=[channel.c.is_active],
    filters={"uuid": equals(channel.c.uuid), "address": equals(channel.c.address)},
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
