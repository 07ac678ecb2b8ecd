"""What does not work in a workspace: phones that are silent and webhooks that fail; and since when deliveries wait."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, func, literal, select

from persistence.channels.states import IS_RELAYER, LOST_AFTER
from persistence.database import Transaction
from persistence.sql.columns import time_text
from persistence.tables.channels import channel
from persistence.tables.deliveries import PENDING, delivery, resthook, resthook_subscriber, webhook_trouble

MOST = 100
TROUBLE = webhook_trouble.c
FACTS = (TROUBLE.began_on, TROUBLE.last_failed_on, TROUBLE.given_up, TROUBLE.switched_off_on)


def list_silent_phones(tx: Transaction, workspace_id: int) -> list[dict[str, Any]]:
    """Phones that have not called for as long as opens an alarm, the longest silent first, at most MOST."""
    seen = func.coalesce(channel.c.last_seen, channel.c.created_on)
    silent = (channel.c.workspace_id == workspace_id) & channel.c.is_active & IS_RELAYER & (seen < tx.now - LOST_AFTER)
    columns = (channel.c.uuid, channel.c.name, channel.c.last_seen)
    rows = tx.execute(select(*columns).where(silent).order_by(seen, channel.c.id).limit(MOST))
    return [
        {"channel": _ref(uuid, name), "last_seen": None if moment is None else time_text(moment)}
        for uuid, name, moment in rows
    ]


def list_failing_webhooks(tx: Transaction, workspace_id: int) -> list[dict[str, Any]]:
    """Webhooks of channels and subscribers of resthooks that accept nothing at present, at most MOST of each. URLs are
    not told: they may contain secrets.
    """
    is_channels = (TROUBLE.channel_id == channel.c.id) & (TROUBLE.workspace_id == channel.c.workspace_id)
    mine = (channel.c.workspace_id == workspace_id) & channel.c.is_active & channel.c.webhook_url.is_not(None)
    of_channels = select(channel.c.uuid, channel.c.name, *FACTS).select_from(channel.join(webhook_trouble, is_channels))
    first = _first(tx, of_channels.where(mine), channel.c.id)
    found = [_webhook(row, channel=_ref(row.uuid, row.name)) for row in first]
    rows = resthook_subscriber.c
    is_subscribers = (TROUBLE.subscriber_id == rows.id) & (TROUBLE.workspace_id == rows.workspace_id)
    source = resthook_subscriber.join(webhook_trouble, is_subscribers)
    named = (resthook.c.id == rows.resthook_id) & (resthook.c.workspace_id == rows.workspace_id)
    of_subscribers = select(resthook.c.slug, *FACTS).select_from(source.join(resthook, named))
    theirs = of_subscribers.where(rows.workspace_id == workspace_id)
    return found + [_webhook(row, resthook=row.slug) for row in _first(tx, theirs, rows.id)]


def find_oldest_delivery(tx: Transaction, workspace_id: int) -> str | None:
    """Since when the oldest event waits for its webhook."""
    waits = (delivery.c.workspace_id == workspace_id) & (delivery.c.status == literal(PENDING, literal_execute=True))
    oldest = select(delivery.c.created_on).where(waits).order_by(delivery.c.created_on).limit(1)
    moment = tx.execute(oldest).scalar_one_or_none()
    return None if moment is None else time_text(moment)


def _first(tx: Transaction, statement: Any, order: ColumnElement[int]) -> Sequence[Row[Any]]:
    found: Sequence[Row[Any]] = tx.execute(statement.order_by(order).limit(MOST)).all()
    return found


def _ref(uuid: str, name: str | None) -> dict[str, Any]:
    return {"uuid": uuid, "name": name}


def _webhook(row: Row[Any], **of: Any) -> dict[str, Any]:
    moments = {name: getattr(row, name) for name in ("began_on", "last_failed_on", "switched_off_on")}
    told = {name: moment and time_text(moment) for name, moment in moments.items()}
    return {"channel": None, "resthook": None, "given_up": row.given_up} | told | of
