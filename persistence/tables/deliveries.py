from datetime import datetime
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    Named,
    String,
    Text,
    UniqueConstraint,
)

from persistence.secrets.encryption import sealed_column
from persistence.sql.columns import BigId, Json, OwnedColumns, RecordColumns, UtcDateTime, numbered_table, partial_index
from persistence.tables.policies import SET_UP, TRIMMED, Audited, policy

PENDING, DELIVERED, FAILED = "pending", "delivered", "failed"


class DeliveryColumns(RecordColumns):
    event: Named[str] = Column(String(16))
    channel_id: Named[int | None] = Column(Integer, ForeignKey("channel.id"))
    subscriber_id: Named[int | None] = Column(BigId)
    contact_id: Named[int | None] = Column(BigId, ForeignKey("contact.id"))
    receiver: Named[str] = Column(String(300))
    url: Named[str] = Column(Text)
    content_type: Named[str] = Column(String(64))
    body: Named[str] = Column(Text)
    status: Named[str] = Column(String(9), default=PENDING)
    attempts: Named[int] = Column(Integer, default=0)
    begun: Named[int] = Column(Integer, default=0, server_default="0")
    created_on: Named[datetime] = Column(UtcDateTime)
    scheduled_on: Named[datetime] = Column(UtcDateTime)
    due_on: Named[datetime] = Column(UtcDateTime)
    finished_on: Named[datetime | None] = Column(UtcDateTime)
    last_status: Named[int | None] = Column(Integer)
    last_error: Named[str | None] = Column(Text)


delivery = numbered_table(
    "delivery",
    DeliveryColumns,
    CheckConstraint("status IN ('pending', 'delivered', 'failed')", name="status"),
    partial_index("ix_delivery_due", "workspace_id", "receiver", "due_on", "id", where="status = 'pending'"),
    Index("ix_delivery_page", "workspace_id", "created_on", "id"),
    Index("ix_delivery_status", "workspace_id", "status", "created_on", "id"),
    Index("ix_delivery_finished", "finished_on", "id"),
    # Used when a subscription ends, to find its pending deliveries.
    partial_index("ix_delivery_subscriber", "subscriber_id", where="status = 'pending' AND subscriber_id IS NOT NULL"),
    Index("ix_delivery_event", "workspace_id", "event", "created_on", "id"),
    partial_index(
        "ix_delivery_channel", "workspace_id", "channel_id", "created_on", "id", where="channel_id IS NOT NULL"
    ),
    partial_index(
        "ix_delivery_to_subscriber",
        *("workspace_id", "subscriber_id", "created_on", "id"),
        where="subscriber_id IS NOT NULL",
    ),
    partial_index(
        "ix_delivery_contact", "workspace_id", "contact_id", "created_on", "id", where="contact_id IS NOT NULL"
    ),
    info=policy(
        TRIMMED,
        erased="rows",
        copied="deliveries",
        mentions="body",
        merged="left",
        refers={"subscriber_id": "resthook_subscriber"},
    ),
)
"""`uuid` is the event's id, the same in all attempts. `receiver` is scheme, host and port of the URL, followed by the
kind and id of a receiver that has a rate limit of its own. A pending delivery is due at `due_on`; a worker leases it by
moving that time into the future, while `scheduled_on` keeps the planned time. `begun` counts the leases
since the last attempt whose outcome is known."""


class DeliveryAttemptColumns(RecordColumns):
    delivery_id: Named[int] = Column(BigId, ForeignKey("delivery.id", ondelete="CASCADE"))
    number: Named[int] = Column(Integer)
    scheduled_on: Named[datetime] = Column(UtcDateTime)
    finished_on: Named[datetime] = Column(UtcDateTime)
    duration_ms: Named[int] = Column(Integer)
    status: Named[int | None] = Column(Integer)
    error: Named[str | None] = Column(Text)
    answer: Named[str | None] = Column(Text)
    started_on: Named[datetime | None] = Column(UtcDateTime)
    url: Named[str | None] = Column(Text)
    signed: Named[str | None] = Column(String(32))
    answer_headers: Named[Any] = Column(Json, nullable=True)


delivery_attempt = numbered_table(
    "delivery_attempt",
    DeliveryAttemptColumns,
    Index("ix_delivery_attempt_delivery", "delivery_id", "id"),
    info=policy("goes with its delivery", erased="apart"),
)
"""The outcome of each attempt: `status` of the response or `error` (a sentence), and some headers and the first
bytes of the response, with secrets hidden. `signed` names the schemes of its signatures, such as `v1 v1a`."""


class ResthookEventColumns(OwnedColumns):
    resthook_id: Named[int] = Column(BigId, ForeignKey("resthook.id"))
    data: Named[Any] = Column(Json, nullable=False)
    created_on: Named[datetime] = Column(UtcDateTime)


resthook_event = numbered_table(
    "resthook_event",
    ResthookEventColumns,
    Index("ix_resthook_event_page", "workspace_id", "created_on", "id"),
    Index("ix_resthook_event_resthook", "resthook_id", "created_on", "id"),
    Index("ix_resthook_event_age", "created_on", "id"),
    info=policy(TRIMMED, mentions="data"),
)
"""`data` is the body that subscribers get."""


class ResthookSubscriberColumns(OwnedColumns):
    resthook_id: Named[int | None] = Column(BigId, ForeignKey("resthook.id"))
    events: Named[list[str] | None] = Column[Any](Json, nullable=True)
    target_url: Named[str] = Column(Text)
    created_on: Named[datetime] = Column(UtcDateTime)
    webhook_secret = sealed_column("resthook_subscriber", "webhook_secret")
    webhook_previous_secret = sealed_column("resthook_subscriber", "webhook_previous_secret")
    webhook_rotated_on: Named[datetime | None] = Column(UtcDateTime)


resthook_subscriber = numbered_table(
    "resthook_subscriber",
    ResthookSubscriberColumns,
    Index("uq_resthook_subscriber_target", "resthook_id", "target_url", "workspace_id", unique=True),
    Index("ix_resthook_subscriber_page", "workspace_id", "created_on", "id"),
    CheckConstraint("(resthook_id IS NULL) <> (events IS NULL)", name="subscribed"),
    info=policy(
        SET_UP,
        audited=Audited("resthook_subscribers", shown=("events",), hidden=("target_url", "webhook_secret")),
    ),
)
"""A subscriber of a resthook, or of `events` of the workspace."""

SLUG_LENGTH = 50


class ResthookColumns(OwnedColumns):
    slug: Named[str] = Column(String(SLUG_LENGTH))
    created_on: Named[datetime] = Column(UtcDateTime)
    modified_on: Named[datetime] = Column(UtcDateTime)


resthook = numbered_table(
    "resthook",
    ResthookColumns,
    Index("uq_resthook_slug", "workspace_id", "slug", unique=True),
    Index("ix_resthook_page", "workspace_id", "modified_on", "id"),
    info=policy(SET_UP, audited=Audited("resthooks", "slug")),
)


class WebhookTroubleColumns(OwnedColumns):
    channel_id: Named[int | None] = Column(Integer)
    subscriber_id: Named[int | None] = Column(BigId)
    began_on: Named[datetime] = Column(UtcDateTime)
    last_failed_on: Named[datetime] = Column(UtcDateTime)
    given_up: Named[int] = Column(Integer)
    switched_off_on: Named[datetime | None] = Column(UtcDateTime)
    reason: Named[str | None] = Column(Text)


webhook_trouble = numbered_table(
    "webhook_trouble",
    WebhookTroubleColumns,
    UniqueConstraint("channel_id", "workspace_id"),
    UniqueConstraint("subscriber_id", "workspace_id"),
    info=policy(
        "a row for each receiver that fails", refers={"channel_id": "channel", "subscriber_id": "resthook_subscriber"}
    ),
)
"""Belongs to a channel or to a subscriber. There are no foreign keys to them, so that recording deliveries
never waits for a phone's sync and never fails because a subscriber was just removed; a leftover row has no effect."""

SYMMETRIC, ED25519 = "symmetric", "ed25519"
FORM, JSON = "form", "json"


class WebhookReceiverColumns(OwnedColumns):
    channel_id: Named[int | None] = Column(Integer)
    subscriber_id: Named[int | None] = Column(BigId)
    retry_delays: Named[list[float] | None] = Column[Any](Json, nullable=True)
    per_second: Named[float | None] = Column(Float)
    paced_until: Named[datetime | None] = Column(UtcDateTime)
    switched_off_on: Named[datetime | None] = Column(UtcDateTime)
    signature: Named[str] = Column(String(9), default=SYMMETRIC)
    format: Named[str] = Column(String(4), default=FORM, server_default=FORM)
    signature_chosen_on: Named[datetime | None] = Column(UtcDateTime)
    public_key: Named[str | None] = Column(String(64))
    private_key = sealed_column("webhook_receiver", "private_key")
    previous_private_key = sealed_column("webhook_receiver", "previous_private_key")
    key_rotated_on: Named[datetime | None] = Column(UtcDateTime)


webhook_receiver = numbered_table(
    "webhook_receiver",
    WebhookReceiverColumns,
    CheckConstraint("signature IN ('symmetric', 'ed25519')", name="signature"),
    UniqueConstraint("channel_id", "workspace_id"),
    UniqueConstraint("subscriber_id", "workspace_id"),
    info=policy(
        "a row for each receiver with settings of its own",
        audited=Audited(
            "webhook_receivers",
            shown=("retry_delays", "per_second", "switched_off_on", "signature", "format"),
            hidden=("private_key",),
            tells_creation=False,
        ),
        refers={"channel_id": "channel", "subscriber_id": "resthook_subscriber"},
    ),
)
"""What was set for one receiver, a channel or a subscriber; one without a row has the settings of the service.
`format` is how it gets channel events; all others are JSON.
`switched_off_on` is when a person switched it off. There are no foreign keys to them, as in `webhook_trouble`."""
