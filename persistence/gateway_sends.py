"""Outgoing messages of HTTP gateways: leased in batches, and their outcomes recorded (relayer protocol, section 22)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import or_, select, update

from persistence.channels import EXTERNAL, channel
from persistence.database import Transaction
from persistence.messages import ERRORED, FAILED, IS_UNSENT, QUEUED, VISIBLE, WIRED, message

LEASE = timedelta(minutes=2)
RETRY_STEP = timedelta(minutes=5)
MOST_ERRORS = 3
GATEWAY_FAILED = "gateway_failed"


@dataclass(frozen=True, slots=True)
class GatewaySend:
    """A message that a worker holds until its lease ends, with all its gateway needs."""

    message_id: int
    workspace_id: int
    urn: str
    text: str
    attachment_urls: tuple[str, ...]
    quick_replies: tuple[str, ...]
    error_count: int
    channel_id: int
    address: str | None
    country: str | None
    config: dict[str, Any]


def lease_sends(tx: Transaction, limit: int) -> list[GatewaySend]:
    """Take the oldest due messages of all gateways; nobody else gets them while the lease runs."""
    gateways = select(channel.c.id).where(channel.c.type == EXTERNAL, channel.c.is_active)
    is_due = or_(message.c.next_attempt_on.is_(None), message.c.next_attempt_on <= tx.now)
    waiting = IS_UNSENT & message.c.status.in_((QUEUED, ERRORED))
    due = (
        select(message.c.id)
        .where(message.c.channel_id.in_(gateways), waiting, message.c.visibility == VISIBLE, is_due)
        .order_by(message.c.created_on, message.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    leased = tx.execute(
        update(message)
        .where(message.c.id.in_(due), is_due)
        .values(next_attempt_on=tx.now + LEASE)
        .returning(message.c.id)
    ).scalars()
    statement = (
        select(message, channel.c.address, channel.c.country, channel.c.config)
        .join(channel, channel.c.id == message.c.channel_id)
        .where(message.c.id.in_(list(leased)))
        .order_by(message.c.created_on, message.c.id)
    )
    return [_read(row) for row in tx.execute(statement)]


def _read(row: Any) -> GatewaySend:
    return GatewaySend(
        message_id=row.id,
        workspace_id=row.workspace_id,
        urn=row.urn,
        text=row.text,
        attachment_urls=tuple(attachment["url"] for attachment in row.attachments),
        quick_replies=tuple(reply["text"] for reply in row.quick_replies),
        error_count=row.error_count,
        channel_id=row.channel_id,
        address=row.address,
        country=row.country,
        config=dict(row.config or {}),
    )


def record_sends(tx: Transaction, wired: Sequence[GatewaySend], failed: Sequence[GatewaySend]) -> None:
    """Accepted messages are wired; the others errored, to be tried again after five minutes times their errors, and
    failed with a reason at the third error. Only messages that still wait are moved.
    """
    waits = message.c.status.in_((QUEUED, ERRORED))
    accepted = message.c.id.in_([send.message_id for send in wired])
    done = {"status": WIRED, "sent_on": tx.now, "next_attempt_on": None, "modified_on": tx.now}
    tx.execute(update(message).where(accepted, waits).values(**done))
    for send in failed:
        errors = send.error_count + 1
        is_last = errors >= MOST_ERRORS
        again = {"status": ERRORED, "next_attempt_on": tx.now + errors * RETRY_STEP}
        over = {"status": FAILED, "next_attempt_on": None, "failed_reason": GATEWAY_FAILED}
        values = {"error_count": errors, "sent_on": None, "modified_on": tx.now, **(over if is_last else again)}
        tx.execute(update(message).where(message.c.id == send.message_id, waits).values(**values))
