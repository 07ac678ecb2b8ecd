"""The secrets of HTTP gateways, which come with their calls: telling them, checking them, giving new ones."""

import hmac
import secrets
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select, update

from persistence.channels.channels import EXTERNAL
from persistence.database import Transaction
from persistence.errors import RecordMissing, Refused
from persistence.secrets.encrypted_columns import open_or_none, sealed_text
from persistence.sql.columns import is_uuid
from persistence.tables.channels import channel

SECRET_BYTES = 24
OVERLAP = timedelta(hours=24)
"""For so long after a rotation the former secret counts too, unless it is ended at once."""
NO_GATEWAY = "No such gateway."


def new_gateway_secret() -> str:
    """Letters, digits, hyphens and underscores: it stands in an address."""
    return secrets.token_urlsafe(SECRET_BYTES)


def is_secret_of(gateway: Any, given: str | None, now: datetime) -> bool:
    """Whether a call brings a gateway's secret, or the former one within a day of its rotation."""
    in_force = [gateway.secret]
    if gateway.secret_rotated_on is not None and now < gateway.secret_rotated_on + OVERLAP:
        in_force.append(gateway.previous_secret)
    compared = [hmac.compare_digest((given or "").encode(), secret.encode()) for secret in in_force if secret]
    return any(compared)


def read_gateway_secret(tx: Transaction, workspace_id: int, channel_uuid: str) -> str:
    """The present secret of a gateway. Raises RecordMissing, Refused for one that cannot be decrypted."""
    row = _lock(tx, workspace_id, channel_uuid)
    secret: str | None = open_or_none(tx.dialect, channel.c.secret, row.sealed)
    if secret is None:
        raise Refused("The secret of this gateway cannot be decrypted; give it a new one.")
    return secret


def rotate_gateway_secret(tx: Transaction, workspace_id: int, channel_uuid: str, *, ends_former: bool = False) -> str:
    """Gives a gateway a new secret, which is returned; the former one counts for a day more unless it is ended.

    Raises RecordMissing.
    """
    row = _lock(tx, workspace_id, channel_uuid)
    secret = new_gateway_secret()
    former = None if ends_former else open_or_none(tx.dialect, channel.c.secret, row.sealed)
    values = {"secret": secret, "previous_secret": former, "secret_rotated_on": tx.now}
    tx.execute(update(channel).where(channel.c.id == row.id).values(**values))
    return secret


def _lock(tx: Transaction, workspace_id: int, channel_uuid: str) -> Any:
    gateway = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == channel_uuid)
    gateway &= (channel.c.type == EXTERNAL) & channel.c.is_active
    columns = (channel.c.id, sealed_text(channel.c.secret).label("sealed"))
    row = tx.execute(select(*columns).where(gateway).with_for_update()).first() if is_uuid(channel_uuid) else None
    if row is None:
        raise RecordMissing(NO_GATEWAY)
    return row


def callback_path(channel_uuid: str, secret: str) -> str:
    """The path that a gateway calls; an action follows."""
    return f"/c/ex/{channel_uuid}/{secret}/"
