from datetime import datetime
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    Named,
    String,
    Table,
    Text,
    TypedColumns,
    UniqueConstraint,
)

from persistence.secrets.encrypted_columns import sealed_column
from persistence.sql.columns import Json, UtcDateTime, id_column, metadata, partial_index, uuid_column, workspace_column

PENDING, DELIVERED, FAILED = "pending", "delivered", "failed"


class DeliveryColumns(TypedColumns):
    id: Named[int] = id_column()
    uuid: Named[str] = uuid_column()
    workspace_id: Named[int] = workspace_column()
    event: Named[str] = Column(String(16))
    channel_id: Named[int | None] = Column(Integer, ForeignKey("channel.id"))
    subscriber_id: Named[int | None] = Column(Integer)
    contact_id: Named[int | None] = Column(Integer, ForeignKey("contact.id"))
    receiver: Named[str] = Column(String(300))
    url: Named[str] = Column(Text)
    content_type: Named[str] = Column(String(64))
    body: Named[str] = Column(Text)
    status: Named[str] = Column(String(9), default=PENDING)
    attempts: Named[int] = Column(Integer, default=0)
    created_on: Named[datetime] = Column(UtcDateTime)
    scheduled_on: Named[datetime] = Column(UtcDateTime)
    due_on: Named[datetime] = Column(UtcDateTime)
    finished_on: Named[datetime | None] = Column(UtcDateTime)
    last_status: Named[int | None] = Column(Integer)
    last_error: Named[str | None] = Column(Text)


delivery = Table(
    "delivery",
    metadata,
    DeliveryColumns,
    CheckConstraint("status IN ('pending', 'delivered', 'failed')", name="status"),
    partial_index("ix_delivery_due", "receiver", "due_on", "id", where="status = 'pending'"),
    Index("ix_delivery_page", "workspace_id", "created_on", "id"),
    Index("ix_delivery_status", "workspace_id", "status", "created_on", "id"),
    Index("ix_delivery_finished", "finished_on", "id"),
    sqlite_autoincrement=True,
)
"""`uuid` is the event's id, the same over all attempts. `receiver` is scheme, host and port of the URL. A pending
delivery is due at `due_on`; a worker leases it by moving that into the future, `scheduled_on` stays as planned."""


class DeliveryAttemptColumns(TypedColumns):
    id: Named[int] = id_column()
    uuid: Named[str] = uuid_column()
    workspace_id: Named[int] = workspace_column()
    delivery_id: Named[int] = Column(Integer, ForeignKey("delivery.id", ondelete="CASCADE"))
    number: Named[int] = Column(Integer)
    scheduled_on: Named[datetime] = Column(UtcDateTime)
    finished_on: Named[datetime] = Column(UtcDateTime)
    duration_ms: Named[int] = Column(Integer)
    status: Named[int | None] = Column(Integer)
    error: Named[str | None] = Column(Text)
    answer: Named[str | None] = Column(Text)


delivery_attempt = Table(
    "delivery_attempt",
    metadata,
    DeliveryAttemptColumns,
    Index("ix_delivery_attempt_delivery", "delivery_id", "id"),
    sqlite_autoincrement=True,
)
"""What happened each time: `status` of the answer or `error` (a sentence), and the first bytes of the answer."""


class ResthookEventColumns(TypedColumns):
    id: Named[int] = id_column()
    workspace_id: Named[int] = workspace_column()
    resthook_id: Named[int] = Column(Integer, ForeignKey("resthook.id"))
    data: Named[Any] = Column(Json, nullable=False)
    created_on: Named[datetime] = Column(UtcDateTime)


resthook_event = Table(
    "resthook_event",
    metadata,
    ResthookEventColumns,
    Index("ix_resthook_event_page", "workspace_id", "created_on", "id"),
    Index("ix_resthook_event_resthook", "resthook_id", "created_on", "id"),
    Index("ix_resthook_event_age", "created_on", "id"),
    sqlite_autoincrement=True,
)
"""`data` is the body that subscribers get."""


class ResthookSubscriberColumns(TypedColumns):
    id: Named[int] = id_column()
    workspace_id: Named[int] = workspace_column()
    resthook_id: Named[int] = Column(Integer, ForeignKey("resthook.id"))
    target_url: Named[str] = Column(Text)
    created_on: Named[datetime] = Column(UtcDateTime)
    webhook_secret = sealed_column("resthook_subscriber", "webhook_secret")
    webhook_previous_secret = sealed_column("resthook_subscriber", "webhook_previous_secret")
    webhook_rotated_on: Named[datetime | None] = Column(UtcDateTime)


resthook_subscriber = Table(
    "resthook_subscriber",
    metadata,
    ResthookSubscriberColumns,
    Index("uq_resthook_subscriber_target", "resthook_id", "target_url", unique=True),
    Index("ix_resthook_subscriber_page", "workspace_id", "created_on", "id"),
    sqlite_autoincrement=True,
)

SLUG_LENGTH = 50


class ResthookColumns(TypedColumns):
    id: Named[int] = id_column()
    workspace_id: Named[int] = workspace_column()
    slug: Named[str] = Column(String(SLUG_LENGTH))
    created_on: Named[datetime] = Column(UtcDateTime)
    modified_on: Named[datetime] = Column(UtcDateTime)


resthook = Table(
    "resthook",
    metadata,
    ResthookColumns,
    Index("uq_resthook_slug", "workspace_id", "slug", unique=True),
    Index("ix_resthook_page", "workspace_id", "modified_on", "id"),
    sqlite_autoincrement=True,
)


class WebhookTroubleColumns(TypedColumns):
    id: Named[int] = id_column()
    workspace_id: Named[int] = workspace_column()
    channel_id: Named[int | None] = Column(Integer)
    subscriber_id: Named[int | None] = Column(Integer, unique=True)
    began_on: Named[datetime] = Column(UtcDateTime)
    last_failed_on: Named[datetime] = Column(UtcDateTime)
    given_up: Named[int] = Column(Integer)
    switched_off_on: Named[datetime | None] = Column(UtcDateTime)
    reason: Named[str | None] = Column(Text)


webhook_trouble = Table(
    "webhook_trouble",
    metadata,
    WebhookTroubleColumns,
    UniqueConstraint("channel_id", "workspace_id"),
    sqlite_autoincrement=True,
)
"""Either a channel's or a resthook subscriber's. Without foreign keys to them, so that recording deliveries never waits
for a phone's sync nor fails over a subscriber that has just ended; a row left over means nothing."""
