"""New gateways."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import func, select

from flows.phones import is_country
from flows.words import told
from persistence.channels.channels import create_gateway
from persistence.channels.config import read_config
from persistence.channels.settings import new_gateway_secret
from persistence.channels.states import IS_GATEWAY
from persistence.channels.types import GATEWAYS, TYPES
from persistence.channels.webhooks import Networks
from persistence.database import Transaction
from persistence.errors import InvalidInput, LimitReached
from persistence.sql.names import OBJECTS_PER_WORKSPACE, check_name
from persistence.tables.channels import channel
from persistence.workspaces import hold_workspace

ADDRESS_LENGTH = 255
SCHEME = "tel"
CLAIMED = "A phone is claimed by its code, not created."


def add_gateway(
    tx: Transaction, workspace_id: int, new: Mapping[str, Any], networks: Networks = None
) -> tuple[str, str]:
    """Creates a gateway from its `type`, `name`, `address` and, perhaps, `country`, `scheme`, `settings` (as texts),
    `messages_per_second` and `allow_international`; returns its UUID and the secret of its own calls. Raises
    InvalidInput, LimitReached.
    """
    for needed in ("type", "name", "address"):
        if needed not in new:
            raise InvalidInput.on(needed, "A value is required.", "required")
    channel_type, scheme, country = new["type"], new.get("scheme", SCHEME), new.get("country") or None
    if channel_type not in GATEWAYS:
        known = f"One of these: {', '.join(GATEWAYS)}; not {told(channel_type)}."
        raise InvalidInput.on("type", CLAIMED if channel_type in TYPES else known, "not_one_of")
    schemes = TYPES[channel_type].schemes
    if scheme not in schemes:
        sentence = f"{told(scheme)} is no scheme of this type; it has {', '.join(schemes)}."
        raise InvalidInput.on("scheme", sentence, "not_one_of")
    if country is not None and not is_country(country):
        raise InvalidInput.on("country", f"{told(country)} is not the code of a country: two letters, such as RW.")
    secret = new_gateway_secret()
    values: dict[str, Any] = {
        "name": check_name(new["name"]),
        "address": check_name(new["address"], "address", ADDRESS_LENGTH),
        "country": country,
        "schemes": [scheme],
        "config": read_config(channel_type, new.get("settings") or {}, networks=networks),
        "secret": secret,
        "messages_per_second": new.get("messages_per_second"),
        "allow_international": bool(new.get("allow_international")),
    }
    hold_workspace(tx, workspace_id)
    mine = (channel.c.workspace_id == workspace_id) & IS_GATEWAY & channel.c.is_active
    if tx.execute(select(func.count()).where(mine)).scalar_one() >= OBJECTS_PER_WORKSPACE:
        raise LimitReached(f"A workspace has at most {OBJECTS_PER_WORKSPACE} gateways.")
    return create_gateway(tx, workspace_id, channel_type, **values), secret
