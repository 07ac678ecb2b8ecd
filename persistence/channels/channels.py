"""Channels: Android phones and external gateways; the table and the v2 record."""

from typing import Any

from sqlalchemy import insert, select

from persistence.database import Transaction
from persistence.lists import ListSpec, equals
from persistence.sql.columns import is_uuid, new_uuid
from persistence.sql.json_sql import declare_record, json_record_or_null
from persistence.sql.pages import Order
from persistence.tables.channels import channel
from persistence.tables.deliveries import webhook_trouble

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


def list_channel_facts(tx: Transaction, workspace_id: int) -> list[dict[str, Any]]:
    """The active channels of a workspace for its operator, each with its webhook, oldest first."""
    trouble = webhook_trouble.c
    of_it = (trouble.channel_id == channel.c.id) & (trouble.workspace_id == channel.c.workspace_id)
    statement = (
        select(channel.c.uuid, channel.c.id, channel.c.type, channel.c.name, channel.c.address, channel.c.last_seen)
        .add_columns(
            channel.c.webhook_url,
            trouble.switched_off_on.label("webhook_switched_off_on"),
            trouble.reason.label("webhook_switched_off_reason"),
        )
        .select_from(channel.outerjoin(webhook_trouble, of_it))
        .where((channel.c.workspace_id == workspace_id) & channel.c.is_active)
    )
    return [dict(row) for row in tx.execute(statement.order_by(channel.c.id)).mappings()]


def read_claimed(tx: Transaction, workspace_id: int, channel_id: int) -> dict[str, Any]:
    """What is told of a phone that was just claimed."""
    columns = (channel.c.uuid, channel.c.id, channel.c.name, channel.c.address, channel.c.country)
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.id == channel_id)
    return dict(tx.execute(select(*columns).where(mine)).mappings().one())


def find_channel_workspace(tx: Transaction, uuid: str) -> int | None:
    """The workspace that has claimed a channel, also one that is released now."""
    if not is_uuid(uuid):
        return None
    return tx.execute(select(channel.c.workspace_id).where(channel.c.uuid == uuid)).scalar_one_or_none()


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
