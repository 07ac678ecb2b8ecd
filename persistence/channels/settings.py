"""Settings of channels that only administrators see and change: how gateways call us, and how fast we call them."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import Row, select

from persistence.channels.channels import CHANNELS, EXTERNAL
from persistence.channels.gateway_pace import set_limit
from persistence.channels.gateway_secrets import OVERLAP, callback_path, rotate_gateway_secret
from persistence.database import Transaction
from persistence.errors import RecordMissing, Refused
from persistence.lists import equals
from persistence.secrets.encrypted_columns import open_or_none, sealed_text
from persistence.sql.columns import time_text
from persistence.sql.json_sql import declare_record
from persistence.tables.channels import channel

NO_GATEWAY = "Only gateways have these settings."

SETTINGS_ROW = declare_record(
    {
        "uuid": channel.c.uuid,
        "name": channel.c.name,
        "type": channel.c.type,
        "secret": sealed_text(channel.c.secret),
        "rotated_on": channel.c.secret_rotated_on,
        "messages_per_second": channel.c.messages_per_second,
    }
)


CHANNEL_SETTINGS = replace(CHANNELS, record=SETTINGS_ROW, filters={"uuid": equals(channel.c.uuid)})
"""What `describe_settings` makes the records of."""


def change_channel_settings(
    tx: Transaction, workspace_id: int, uuid: str, *, changes: dict[str, Any], rotates: bool, ends_former: bool
) -> str:
    """Changes a gateway's limit if `changes` holds one, and its secret if that is asked for; the record as JSON text.

    The record leaves the secret out: answers are kept for repeated requests. Raises RecordMissing, and Refused for
    phones.
    """
    row = _lock(tx, workspace_id, uuid)
    if row.type != EXTERNAL:
        raise Refused(NO_GATEWAY)
    if "messages_per_second" in changes:
        set_limit(tx, workspace_id, uuid, changes["messages_per_second"])
    if rotates:
        rotate_gateway_secret(tx, workspace_id, uuid, ends_former=ends_former)
    row = _lock(tx, workspace_id, uuid)
    rotated_on = None if row.secret_rotated_on is None else time_text(row.secret_rotated_on)
    told = {"uuid": uuid.lower(), "name": row.name, "type": row.type, "secret": None, "rotated_on": rotated_on}
    return _describe(tx, told | {"messages_per_second": row.messages_per_second}, "")


def _lock(tx: Transaction, workspace_id: int, uuid: str) -> Row[*tuple[Any, ...]]:
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == uuid) & channel.c.is_active
    columns = (channel.c.type, channel.c.name, channel.c.secret_rotated_on, channel.c.messages_per_second)
    row = tx.execute(select(*columns).where(mine).with_for_update(key_share=True)).first()
    if row is None:
        raise RecordMissing
    return row


def describe_settings(tx: Transaction, stored: str, root: str) -> str:
    """The record of what CHANNEL_SETTINGS reads; `root` is the address of the service. Phones have no settings."""
    return _describe(tx, orjson.loads(stored), root)


def _describe(tx: Transaction, row: dict[str, Any], root: str) -> str:
    secret = open_or_none(tx.dialect, channel.c.secret, row["secret"]) if row["type"] == EXTERNAL else None
    ends_on = None if row["rotated_on"] is None else datetime.fromisoformat(row["rotated_on"]) + OVERLAP
    record = {
        "uuid": row["uuid"],
        "name": row["name"],
        "type": row["type"],
        "callback_url": None if secret is None else f"{root}{callback_path(row['uuid'], secret)}",
        "secret": secret,
        "former_secret_until": time_text(ends_on) if ends_on is not None and ends_on > tx.now else None,
        "messages_per_second": row["messages_per_second"],
    }
    return orjson.dumps(record).decode()
