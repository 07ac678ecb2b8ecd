"""The delivery URL of a channel: where its events are sent, which events, and the secret that signs them."""

import base64
import secrets
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import select, update

from persistence.channels.event_form import CHANNEL_EVENTS
from persistence.database import Transaction
from persistence.deliveries.outbox import follow_channel
from persistence.deliveries.settings import Endpoint, end_trouble, switch_on
from persistence.errors import InvalidInput, RecordMissing
from persistence.secrets.encryption import open_or_none, sealed_text
from persistence.sql.columns import is_uuid
from persistence.tables.channels import channel
from relayboard.base.addresses import Network, may_be_called

SECRET_BYTES = 32
URL_LENGTH = 2048


def new_webhook_secret() -> str:
    """A signing secret in the form of Standard Webhooks: `whsec_` and base64."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


PRIVATE = "This address is on a private network. The operator can allow it: RELAYBOARD_WEBHOOK_ALLOWED_NETWORKS."
Networks = Sequence[Network] | None
"""The private networks that may be called; None where nobody asks, because a program sets the URL."""


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
    unknown = sorted(set(events or ()) - set(CHANNEL_EVENTS))
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
