"""Settings of gateways that only administrators see and change: how they are called, the secrets of their own
calls, and their rate limits."""

import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import orjson
from sqlalchemy import select, update

from persistence.audit.witness import READ, tell_deed
from persistence.channels.channels import CHANNELS, rename_channel
from persistence.channels.config import MAY_HOLD_SECRETS, read_config, show_config
from persistence.channels.states import IS_GATEWAY
from persistence.channels.types import GATEWAYS, TYPES
from persistence.channels.webhooks import Networks
from persistence.database import Transaction
from persistence.errors import InvalidInput, RecordMissing, Refused
from persistence.lists import equals
from persistence.secrets.encrypted_columns import open_or_none, sealed_text
from persistence.sql.columns import is_uuid, time_text
from persistence.sql.json_sql import as_text, declare_record
from persistence.sql.names import check_name
from persistence.tables.channels import channel

SECRET_BYTES = 24
OVERLAP = timedelta(hours=24)
"""For this long after a rotation the former secret is also accepted, unless it is ended at once."""

SETTINGS_ROW = declare_record(
    {
        "uuid": channel.c.uuid,
        "name": channel.c.name,
        "type": channel.c.type,
        "address": channel.c.address,
        "country": channel.c.country,
        "schemes": channel.c.schemes,
        "config": sealed_text(channel.c.config),
        "secret": sealed_text(channel.c.secret),
        "rotated_on": channel.c.secret_rotated_on,
        "messages_per_second": channel.c.messages_per_second,
        "allow_international": channel.c.allow_international,
    }
)


CHANNEL_SETTINGS = replace(CHANNELS, record=SETTINGS_ROW, filters={"uuid": equals(channel.c.uuid)})
"""The columns that `describe_settings` reads."""


def change_config(
    tx: Transaction, workspace_id: int, uuid: str, given: Mapping[str, Any], networks: Networks = None
) -> None:
    """Changes how a gateway is called; `given` has texts by the names of settings. Raises RecordMissing, InvalidInput,
    and Refused if its settings cannot be decrypted and are not all given.
    """
    channel_id, _ = _lock_gateway(tx, workspace_id, uuid)
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.id == channel_id)
    channel_type, sealed = tx.execute(select(channel.c.type, sealed_text(channel.c.config)).where(mine)).one()
    former = open_or_none(tx.dialect, channel.c.config, sealed)
    tx.execute(update(channel).where(mine).values(config=read_config(channel_type, given, former, networks)))


def change_channel_settings(
    tx: Transaction, workspace_id: int, uuid: str, changes: Mapping[str, Any], networks: Networks = None
) -> str:
    """Changes a channel's name and where it sends to, and a gateway's rate limit, settings and secret, as far as
    `changes` contains them; returns the record as JSON text. Raises RecordMissing, InvalidInput, and Refused for what
    cannot be changed.
    """
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == uuid) & channel.c.is_active
    held = select(channel.c.type).where(mine).with_for_update(key_share=True)
    channel_type = tx.execute(held).scalar_one_or_none()
    if channel_type is None:
        raise RecordMissing
    fixed = [name for name in ("type", "address", "country", "scheme") if name in changes]
    if fixed:
        raise InvalidInput.on(
            fixed[0], f"The {fixed[0]} of a channel cannot be changed: add another channel, and release this one."
        )
    if channel_type not in GATEWAYS and (changes.keys() - {"name", "allow_international"} or not changes):
        raise Refused("A phone has only a name and allow_international; the other settings are those of gateways.")
    if "name" in changes:
        rename_channel(tx, workspace_id, uuid, check_name(changes["name"]))
    if "allow_international" in changes:
        set_international(tx, workspace_id, uuid, is_allowed=changes["allow_international"])
    if "messages_per_second" in changes:
        set_limit(tx, workspace_id, uuid, changes["messages_per_second"])
    if "settings" in changes:
        change_config(tx, workspace_id, uuid, changes["settings"], networks)
    if changes.get("rotate_secret"):
        rotate_gateway_secret(tx, workspace_id, uuid, ends_former=bool(changes.get("end_former_secret")))
    return read_channel_settings(tx, workspace_id, uuid)


def read_channel_settings(tx: Transaction, workspace_id: int, uuid: str) -> str:
    """The settings of a channel as JSON text, without what may hold secrets, because responses are stored for repeated
    requests. Raises RecordMissing.
    """
    tx.flush()
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == uuid) & channel.c.is_active
    stored = tx.execute(select(as_text(SETTINGS_ROW)).where(mine)).scalar_one_or_none()
    if stored is None:
        raise RecordMissing
    return _describe(tx, orjson.loads(stored) | {"secret": None}, "", MAY_HOLD_SECRETS)


def describe_settings(tx: Transaction, workspace_id: int, stored: str, root: str) -> str:
    """The record made from what CHANNEL_SETTINGS reads; `root` is the URL of the service. Phones have no settings. The
    audit log tells who reads a secret."""
    row = orjson.loads(stored)
    if row["secret"] and row["type"] in GATEWAYS:
        tell_deed(tx, workspace_id, "channels", READ, row["uuid"], row["name"] or "", {"secret": [None, "hidden"]})
    return _describe(tx, row, root, ("secret",))


def _describe(tx: Transaction, row: dict[str, Any], root: str, hidden: Sequence[str]) -> str:
    is_gateway = row["type"] in GATEWAYS
    secret = open_or_none(tx.dialect, channel.c.secret, row["secret"]) if is_gateway and row["secret"] else None
    config = open_or_none(tx.dialect, channel.c.config, row["config"]) if is_gateway and row["config"] else None
    ends_on = None if row["rotated_on"] is None else datetime.fromisoformat(row["rotated_on"]) + OVERLAP
    record = {
        "uuid": row["uuid"],
        "name": row["name"],
        "type": row["type"],
        "address": row["address"],
        "country": row["country"],
        "scheme": row["schemes"][0],
        "callback_url": None if secret is None else root + callback_path(row["type"], row["uuid"], secret),
        "secret": secret,
        "former_secret_until": time_text(ends_on) if ends_on is not None and ends_on > tx.now else None,
        "messages_per_second": row["messages_per_second"],
        "allow_international": row["allow_international"] in (None, True),
        "settings": show_config(row["type"], config or {}, hidden),
    }
    return orjson.dumps(record).decode()


def callback_path(channel_type: str, channel_uuid: str, secret: str) -> str:
    """The path that a gateway calls, followed by an action."""
    return TYPES[channel_type].callback_path.format(uuid=channel_uuid, secret=secret)


def new_gateway_secret() -> str:
    """A secret of letters, digits, hyphens and underscores, because it is part of a URL."""
    return secrets.token_urlsafe(SECRET_BYTES)


def is_one_of(secrets_in_force: list[str | None], given: str | None) -> bool:
    """Whether a call contains one of these secrets, compared in constant time."""
    compared = [hmac.compare_digest((given or "").encode(), secret.encode()) for secret in secrets_in_force if secret]
    return any(compared)


def read_gateway_secret(tx: Transaction, workspace_id: int, channel_uuid: str) -> str:
    """The current secret of a gateway, for somebody of whom the audit log tells. Raises RecordMissing, and Refused if
    it cannot be decrypted."""
    _, sealed = _lock_gateway(tx, workspace_id, channel_uuid)
    secret: str | None = open_or_none(tx.dialect, channel.c.secret, sealed)
    if secret is None:
        raise Refused("The secret of this gateway cannot be decrypted; give it a new one.")
    tell_deed(tx, workspace_id, "channels", READ, channel_uuid, changes={"secret": [None, "hidden"]})
    return secret


def rotate_gateway_secret(tx: Transaction, workspace_id: int, channel_uuid: str, *, ends_former: bool = False) -> str:
    """Gives a gateway a new secret, which is returned; the former one is valid for one more day unless it is ended.
    Raises RecordMissing.
    """
    channel_id, sealed = _lock_gateway(tx, workspace_id, channel_uuid)
    secret = new_gateway_secret()
    former = None if ends_former else open_or_none(tx.dialect, channel.c.secret, sealed)
    values = {"secret": secret, "previous_secret": former, "secret_rotated_on": tx.now}
    tx.execute(update(channel).where(channel.c.id == channel_id).values(**values))
    return secret


def set_international(tx: Transaction, workspace_id: int, channel_uuid: str, *, is_allowed: bool) -> None:
    """Sets whether an active channel is also used for numbers of other countries. Raises RecordMissing."""
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == channel_uuid) & channel.c.is_active
    changing = update(channel).where(mine).values(allow_international=is_allowed).returning(channel.c.id)
    if tx.execute(changing).scalar_one_or_none() is None:
        raise RecordMissing


def set_limit(tx: Transaction, workspace_id: int, channel_uuid: str, per_second: float | None) -> None:
    """Sets the rate limit of a gateway; None removes it. Raises RecordMissing."""
    channel_id, _ = _lock_gateway(tx, workspace_id, channel_uuid)
    limit = {"messages_per_second": per_second, "paced_until": None}
    tx.execute(update(channel).where(channel.c.id == channel_id).values(**limit))


def _lock_gateway(tx: Transaction, workspace_id: int, channel_uuid: str) -> tuple[int, str | None]:
    """The id of a gateway, whose row is locked, and its stored secret."""
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == channel_uuid) & channel.c.is_active
    statement = select(channel.c.id, sealed_text(channel.c.secret)).where(mine, IS_GATEWAY)
    row = tx.execute(statement.with_for_update(key_share=True)).first() if is_uuid(channel_uuid) else None
    if row is None:
        raise RecordMissing("No such gateway.")
    channel_id, sealed = row
    return channel_id, sealed
