"""The delivery URL of a channel: where its events go, which of them, and the secret they are signed with."""

import base64
import secrets
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import ColumnElement, select, update

from persistence.channels.event_form import CHANNEL_EVENTS
from persistence.database import Transaction
from persistence.deliveries.failing_receivers import end_trouble
from persistence.deliveries.outbox import follow_channel
from persistence.errors import InvalidInput, RecordMissing
from persistence.secrets.encrypted_columns import open_or_none, sealed_text
from persistence.sql.columns import is_uuid
from persistence.tables.channels import channel

SECRET_BYTES = 32
URL_LENGTH = 2048
NO_CHANNEL = "No such channel."


def new_webhook_secret() -> str:
    """A signing secret in the form of Standard Webhooks: `whsec_` and base64."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def check_webhook_url(url: str, field: str = "url") -> str:
    """The URL without spaces around it; raises InvalidInput for one that can never be called."""
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
    if len(url) > URL_LENGTH:
        raise InvalidInput.on(field, f"At most {URL_LENGTH} characters.")
    return url


def set_channel_webhook(
    tx: Transaction, workspace_id: int, channel_uuid: str, url: str | None, events: Sequence[str] | None = None
) -> str | None:
    """Sends a channel's events (None: all) to a URL from now on, or nowhere; the secret they are signed with.

    What waits for the former URL goes to the new one, or is given up when there is none. The secret stays the same when
    only the URL or the events change. A receiver that was switched off because it
    failed for long is on again. Raises RecordMissing, InvalidInput.
    """
    unknown = sorted(set(events or ()) - set(CHANNEL_EVENTS))
    if unknown:
        raise InvalidInput.on("event", f"Unknown event: {unknown[0]}.")
    if url is None:
        switch_on_webhook(tx, workspace_id, channel_uuid)
        _change(tx, workspace_id, channel_uuid, {"webhook_url": None, "webhook_events": None})
        follow_channel(tx, workspace_id, channel_uuid, None)
        return None
    values: dict[str, Any] = {
        "webhook_url": check_webhook_url(url),
        "webhook_events": None if events is None else list(dict.fromkeys(events)),
    }
    secret = _read_secret(tx, workspace_id, channel_uuid)
    if secret is None:
        secret = values["webhook_secret"] = new_webhook_secret()
    switch_on_webhook(tx, workspace_id, channel_uuid)
    _change(tx, workspace_id, channel_uuid, values)
    follow_channel(tx, workspace_id, channel_uuid, values["webhook_url"])
    return secret


def switch_on_webhook(tx: Transaction, workspace_id: int, channel_uuid: str) -> bool:
    """Sends events again to a delivery URL that failed for long, or forgets that it failed; says whether it did.

    Raises RecordMissing.
    """
    named = _named(workspace_id, channel_uuid)
    channel_id = tx.execute(select(channel.c.id).where(named)).scalar_one_or_none() if is_uuid(channel_uuid) else None
    if channel_id is None:
        raise RecordMissing(NO_CHANNEL)
    return end_trouble(tx, channel_ids=[channel_id]) > 0


def rotate_webhook_secret(tx: Transaction, workspace_id: int, channel_uuid: str) -> str:
    """Gives a channel a new secret, which is returned; for a day events are signed with the old one too."""
    secret = new_webhook_secret()
    values = {
        "webhook_secret": secret,
        "webhook_previous_secret": _read_secret(tx, workspace_id, channel_uuid),
        "webhook_rotated_on": tx.now,
    }
    _change(tx, workspace_id, channel_uuid, values)
    return secret


def _read_secret(tx: Transaction, workspace_id: int, channel_uuid: str) -> str | None:
    """The signing secret of a channel, whose row stays locked: two changes at once must not make two secrets."""
    if not is_uuid(channel_uuid):
        raise RecordMissing(NO_CHANNEL)
    kept = channel.c.webhook_secret
    statement = select(sealed_text(kept).label("sealed")).where(_named(workspace_id, channel_uuid)).with_for_update()
    row = tx.execute(statement).first()
    if row is None:
        raise RecordMissing(NO_CHANNEL)
    # One that cannot be decrypted counts as none: setting it anew is how it is mended.
    secret: str | None = open_or_none(tx.dialect, kept, row.sealed)
    return secret


def _change(tx: Transaction, workspace_id: int, channel_uuid: str, values: Mapping[str, object]) -> None:
    if not is_uuid(channel_uuid):
        raise RecordMissing(NO_CHANNEL)
    if not tx.execute(update(channel).where(_named(workspace_id, channel_uuid)).values(values)).rowcount:
        raise RecordMissing(NO_CHANNEL)


def _named(workspace_id: int, channel_uuid: str) -> ColumnElement[bool]:
    return (channel.c.workspace_id == workspace_id) & (channel.c.uuid == channel_uuid) & channel.c.is_active
