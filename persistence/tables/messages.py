"""The statuses of messages in both directions."""

from datetime import date, datetime, time
from typing import Any

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    Computed,
    Date,
    ForeignKey,
    Index,
    Integer,
    Named,
    String,
    Text,
    Time,
    TypedColumns,
    UniqueConstraint,
    bindparam,
    false,
    func,
    literal,
    literal_column,
    select,
)

from persistence.sql.columns import (
    BigId,
    Json,
    LinkColumns,
    NamedRecordColumns,
    OwnedColumns,
    RecordColumns,
    UtcDateTime,
    numbered_table,
    partial_index,
    table_of,
)
from persistence.tables.channels import channel
from persistence.tables.policies import SET_UP, TO_ARCHIVE, Audited, policy

HAS_BEGUN = "(scheduled_on IS NULL OR scheduled_on <= created_on)"
VISIBLE, ARCHIVED, DELETED = "visible", "archived", "deleted"

FOLDER_RULE = """CASE
 WHEN direction = 'in' AND visibility = 'visible' AND status = 'handled' AND flow_id IS NULL THEN 'inbox'
 WHEN direction = 'in' AND visibility = 'visible' AND status = 'handled' THEN 'flows'
 WHEN direction = 'in' AND visibility = 'archived' AND status = 'handled' THEN 'archived'
 WHEN direction = 'out' AND visibility = 'visible' AND status IN ('queued', 'errored') THEN 'outbox'
 WHEN direction = 'out' AND visibility = 'visible' AND status IN ('wired', 'sent', 'delivered', 'read') THEN 'sent'
 WHEN direction = 'out' AND visibility = 'visible' AND status = 'failed' THEN 'failed'
 END"""

SENT_APART = {
    "sqlite": "({0} < {1} OR julianday({0}) - julianday({1}) > 1)",
    "postgresql": "({0} < {1} OR {0} - {1} > interval '1 day')",
}
"""Whether the time of sending is more than a day after that of creation, or before it. Of other messages one time tells
the other well enough to find them by it."""

TEMPLATE_NAME_LENGTH = 512

INCOMING, OUTGOING = "in", "out"
QUEUED, HANDLED, WIRED, SENT = "queued", "handled", "wired", "sent"
DELIVERED, READ, ERRORED, FAILED = "delivered", "read", "errored", "failed"
DETAIL_LENGTH = 500
UNCERTAIN, RESENT, CIRCLE = "uncertain", "resent", "circle"
"""Reasons of messages: nobody knows whether the gateway has it, because the worker that sent it died; a person has sent
it again as another message; it and others were automatic answers in a circle."""
STATUSES = (QUEUED, HANDLED, WIRED, SENT, DELIVERED, READ, ERRORED, FAILED)
RARE = (QUEUED, WIRED, ERRORED, FAILED)


class BroadcastColumns(RecordColumns):
    status: Named[str] = Column(String(11))
    urns: Named[Any] = Column(Json, nullable=False)
    text: Named[Any] = Column(Json, nullable=False)
    attachments: Named[Any] = Column(Json, nullable=False)
    files: Named[Any] = Column(Json, nullable=False)
    quick_replies: Named[Any] = Column(Json, nullable=False)
    template: Named[Any] = Column(Json, nullable=True)
    base_language: Named[str] = Column(String(3))
    is_evaluated: Named[bool] = Column(Boolean, default=False)
    channel_id: Named[int | None] = Column(Integer, ForeignKey("channel.id"))
    query: Named[str | None] = Column(Text)
    total: Named[int] = Column(Integer, default=-1)
    started: Named[int] = Column(Integer, default=0)
    last_contact_id: Named[int] = Column(BigId, default=0)
    scheduled_on: Named[datetime | None] = Column(UtcDateTime)
    repeat: Named[str | None] = Column(String(8))
    days: Named[str | None] = Column(String(7))
    time_of_day: Named[time | None] = Column(Time)
    repeat_until: Named[date | None] = Column(Date)
    repeat_times: Named[int | None] = Column(Integer)
    repeated: Named[int] = Column(Integer, default=0, server_default="0")
    parent_id: Named[int | None] = Column(BigId)
    stopped_on: Named[datetime | None] = Column(UtcDateTime)
    attempts: Named[int] = Column(Integer, default=0, server_default="0")
    leased_until: Named[datetime | None] = Column(UtcDateTime)
    error: Named[str | None] = Column(Text)
    created_on: Named[datetime] = Column(UtcDateTime)
    modified_on: Named[datetime] = Column(UtcDateTime)


broadcast = numbered_table(
    "broadcast",
    BroadcastColumns,
    partial_index("ix_broadcast_begun", "workspace_id", "created_on", "id", where=HAS_BEGUN),
    partial_index("ix_broadcast_scheduled", "workspace_id", "created_on", "id", where="scheduled_on > created_on"),
    partial_index(
        "ix_broadcast_due",
        "workspace_id",
        "scheduled_on",
        "id",
        where="status = 'pending' AND scheduled_on > created_on",
    ),
    partial_index(
        "ix_broadcast_going",
        "workspace_id",
        "modified_on",
        "id",
        where=f"status IN ('pending', 'queued', 'started') AND {HAS_BEGUN}",
    ),
    partial_index("ix_broadcast_draft", "workspace_id", "created_on", "id", where="status = 'draft'"),
    partial_index("ix_broadcast_parent", "parent_id", "created_on", "id", where="parent_id IS NOT NULL"),
    info=policy(
        "what was sent to whom, in the lists of both generations",
        documents=("urns",),
        queries=("query",),
        audited=Audited("broadcasts", shown=("status", "scheduled_on")),
        refers={"last_contact_id": "contact", "parent_id": "broadcast"},
    ),
)
"""`attachments` contains media UUIDs by language, `files` the attachments for messages. Messages are created in the
order of contact ids; `last_contact_id` is the last contact with a message, committed together with that message.
One that repeats makes no messages itself: each time that it is due makes another broadcast, whose `parent_id` names it,
and `repeated` counts these. `scheduled_on` is then its next time; see `persistence.repeating` for `days`."""


class BroadcastContactColumns(LinkColumns):
    broadcast_id: Named[int] = Column(BigId, ForeignKey("broadcast.id"), primary_key=True)
    contact_id: Named[int] = Column(BigId, ForeignKey("contact.id"), primary_key=True)
    is_named: Named[bool] = Column(Boolean)


broadcast_contact = table_of(
    "broadcast_contact",
    BroadcastContactColumns,
    Index("ix_broadcast_contact_contact", "contact_id"),
    info=policy("the recipients of a broadcast", erased="rows", merged="broadcast_id"),
)
"""`is_named` distinguishes contacts in the request from those found by URN."""


class BroadcastGroupColumns(LinkColumns):
    broadcast_id: Named[int] = Column(BigId, ForeignKey("broadcast.id"), primary_key=True)
    group_id: Named[int] = Column(BigId, ForeignKey("contact_group.id", ondelete="CASCADE"), primary_key=True)
    is_excluded: Named[bool] = Column(Boolean, default=False)


broadcast_group = table_of(
    "broadcast_group",
    BroadcastGroupColumns,
    Index("ix_broadcast_group_group", "group_id"),
    info=policy("the recipients of a broadcast"),
)


class GatewaySendColumns(OwnedColumns):
    channel_id: Named[int] = Column(Integer, ForeignKey("channel.id"))
    message_id: Named[int] = Column(Integer, ForeignKey("message.id", ondelete="CASCADE"))
    priority: Named[int] = Column(Integer)
    parts_begun: Named[int] = Column(Integer)
    parts_accepted: Named[int] = Column(Integer)
    error_count: Named[int] = Column(Integer)
    attempts: Named[int] = Column(Integer, default=0, server_default="0")
    created_on: Named[datetime] = Column(UtcDateTime)
    due_on: Named[datetime] = Column(UtcDateTime)


gateway_send = numbered_table(
    "gateway_send",
    GatewaySendColumns,
    UniqueConstraint("message_id", "workspace_id"),
    Index("ix_gateway_send_due", "channel_id", "priority", "due_on", "id"),
    info=policy("goes when its message is accepted or given up"),
)
"""`due_on` is when the next part may be sent; a worker leases a part by moving this time into the future, and counts
it as begun right before it writes the request. An expired lease with more parts begun than accepted means that a worker
died: it is unknown whether the gateway has that part. `attempts` counts the leases since it was begun last."""


class LabelColumns(NamedRecordColumns):
    message_count: Named[int] = Column(Integer, default=0)
    created_on: Named[datetime] = Column(UtcDateTime)


label = numbered_table(
    "label",
    LabelColumns,
    Index("uq_label_name", "workspace_id", "name_key", unique=True),
    Index("ix_label_page", "workspace_id", "created_on", "id"),
    info=policy(SET_UP, audited=Audited("labels", "name", ("name",))),
)
"""`message_count` counts visible messages and changes in the transaction that labels, archives or deletes them."""


class MessageLabelColumns(LinkColumns):
    message_id: Named[int] = Column(Integer, ForeignKey("message.id"), primary_key=True)
    label_id: Named[int] = Column(BigId, ForeignKey("label.id"), primary_key=True)
    created_on: Named[datetime] = Column(UtcDateTime)


message_label = table_of(
    "message_label",
    MessageLabelColumns,
    Index("ix_message_label_page", "label_id", "created_on", "message_id"),
    info=policy("goes with its message or label", erased="apart"),
)
"""`created_on` is the message's, which never changes: this index alone is enough for pages of the label's messages."""


class MediaColumns(RecordColumns):
    content_type: Named[str] = Column(String(255))
    filename: Named[str] = Column(String(255))
    size: Named[int] = Column(Integer)
    url: Named[str] = Column(Text)
    created_on: Named[datetime] = Column(UtcDateTime)
    former_contact_id: Named[int | None] = Column(BigId)


media = numbered_table(
    "media",
    MediaColumns,
    Index("ix_media_workspace", "workspace_id", "id"),
    info=policy(
        "files that messages and broadcasts show; bounded by the quota of the workspace",
        erased="apart",
        audited=Audited("media", "filename", tells_creation=False),
        refers={"former_contact_id": "contact"},
    ),
)
"""`former_contact_id` is a contact of whom a deleted message named the file last."""


class IncomingFileColumns(RecordColumns):
    channel_id: Named[int] = Column(Integer, ForeignKey("channel.id"))
    contact_id: Named[int] = Column(BigId, ForeignKey("contact.id"))
    message_id: Named[int] = Column(Integer, ForeignKey("message.id", ondelete="CASCADE"))
    content_type: Named[str] = Column(String(255))
    reference: Named[str] = Column(Text)
    url: Named[str] = Column(Text)
    is_stored: Named[bool] = Column(Boolean, default=False)
    attempts: Named[int] = Column(Integer, default=0)
    leased_until: Named[datetime | None] = Column(UtcDateTime)
    created_on: Named[datetime] = Column(UtcDateTime)


incoming_file = numbered_table(
    "incoming_file",
    IncomingFileColumns,
    Index("ix_incoming_file_due", "workspace_id", "leased_until"),
    Index("ix_incoming_file_channel", "workspace_id", "channel_id", "leased_until"),
    Index("ix_incoming_file_contact", "contact_id"),
    Index("ix_incoming_file_message", "message_id"),
    info=policy(
        "an hour, or until the file is fetched",
        erased="deleted",
        merged="moved",
        is_carried=False,
    ),
)
"""A file of an incoming message that is still at the provider. Its `uuid` and `url` are those that it has in the media
store when it `is_stored`; `reference` is the provider's name for it. A lease lasts until the next attempt."""


class MediaUsageColumns(TypedColumns):
    workspace_id: Named[int] = Column(Integer, ForeignKey("workspace.id"), primary_key=True)
    bytes: Named[int] = Column(BigInteger)


media_usage = table_of(
    "media_usage",
    MediaUsageColumns,
    info=policy("a row for each workspace"),
)


class MessageColumns(RecordColumns):
    id: Named[int] = Column(Integer, primary_key=True, autoincrement=True)
    contact_id: Named[int] = Column(BigId, ForeignKey("contact.id"))
    urn: Named[str | None] = Column(String(255))
    channel_id: Named[int | None] = Column(Integer, ForeignKey("channel.id"))
    broadcast_id: Named[int | None] = Column(BigId)
    flow_id: Named[int | None] = Column(BigId)
    author_id: Named[int | None] = Column(Integer)
    direction: Named[str] = Column(String(3))
    type: Named[str] = Column(String(5), default="text")
    status: Named[str] = Column(String(9))
    visibility: Named[str] = Column(String(8), default=VISIBLE)
    text: Named[str] = Column(Text, default="")
    attachments: Named[Any] = Column(Json, nullable=False)
    quick_replies: Named[Any] = Column(Json, nullable=False)
    template: Named[Any] = Column(Json, nullable=True)
    external_id: Named[str | None] = Column(String(255))
    failed_reason: Named[str | None] = Column(String(16))
    failed_detail: Named[str | None] = Column(String(DETAIL_LENGTH))
    error_count: Named[int] = Column(Integer, default=0)
    automatic: Named[int | None] = Column(Integer)
    segments: Named[int | None] = Column(Integer)
    is_fallback: Named[bool | None] = Column(Boolean)
    due_on: Named[datetime | None] = Column(UtcDateTime)
    due_reason: Named[str | None] = Column(String(6))
    offered_on: Named[datetime | None] = Column(UtcDateTime)
    reported_on: Named[datetime | None] = Column(UtcDateTime)
    created_on: Named[datetime] = Column(UtcDateTime)
    stored_on: Named[datetime | None] = Column(UtcDateTime)
    sent_on: Named[datetime | None] = Column(UtcDateTime)
    modified_on: Named[datetime] = Column(UtcDateTime)
    folder: Named[str | None] = Column(String(8), Computed(FOLDER_RULE, persisted=True))


message = numbered_table(
    "message",
    MessageColumns,
    UniqueConstraint("channel_id", "direction", "external_id", "workspace_id"),
    CheckConstraint("direction IN ('in', 'out')", name="direction"),
    CheckConstraint("visibility IN ('visible', 'archived', 'deleted')", name="visibility"),
    Index("ix_message_page", "workspace_id", "created_on", "id"),
    Index("ix_message_folder", "workspace_id", "folder", "created_on", "id"),
    partial_index("ix_message_sent", "workspace_id", "sent_on", "id", where="folder = 'sent'"),
    partial_index(
        "ix_message_sent_apart",
        "workspace_id",
        "created_on",
        "sent_on",
        where=f"folder = 'sent' AND {SENT_APART['postgresql'].format('sent_on', 'created_on')}",
        sqlite_where=f"folder = 'sent' AND {SENT_APART['sqlite'].format('sent_on', 'created_on')}",
    ),
    Index("ix_message_contact", "contact_id", "created_on", "id"),
    partial_index("ix_message_broadcast", "broadcast_id", "created_on", "id", where="broadcast_id IS NOT NULL"),
    partial_index("ix_message_flow", "flow_id", "created_on", "id", where="flow_id IS NOT NULL"),
    partial_index(
        "ix_message_outbox",
        "channel_id",
        "created_on",
        "id",
        where="direction = 'out' AND status IN ('queued', 'wired', 'errored')",
    ),
    partial_index(
        "ix_message_undelivered",
        "broadcast_id",
        where="broadcast_id IS NOT NULL AND status NOT IN ('delivered', 'read')",
    ),
    partial_index(
        "ix_message_watched",
        "channel_id",
        "failed_reason",
        "created_on",
        where="failed_reason IN ('uncertain', 'circle')",
    ),
    partial_index("ix_message_archived", "workspace_id", "created_on", "id", where="visibility = 'archived'"),
    partial_index("ix_message_voice", "workspace_id", "created_on", "id", where="type = 'voice'"),
    partial_index(
        "ix_message_rare",
        "workspace_id",
        "status",
        "created_on",
        "id",
        where="status IN ('queued', 'wired', 'errored', 'failed')",
    ),
    partial_index(
        "ix_message_unhandled", "workspace_id", "created_on", "id", where="direction = 'in' AND status = 'queued'"
    ),
    info=policy(
        TO_ARCHIVE,
        erased="apart",
        copied="messages",
        merged="apart",
        audited=Audited("messages", ended={"visibility": "deleted"}, only_end=True, tells_creation=False),
        refers={"author_id": "app_user", "broadcast_id": "broadcast", "flow_id": "flow"},
    ),
)
"""`external_id` is the sender's own key for a message (for a phone: a hash of number, time and text), unique per
channel and direction, so that a repeated report creates no second message. `failed_reason` says why a message failed,
or that it is `uncertain` whether a wired one was sent; `failed_detail` is what its provider said of that. `automatic`
says what made it by itself (`persistence.messages.incoming`), null if a person did; `author_id` is that user, if known.
`segments` is the number of SMS,
null for what is no SMS and for messages from before they were counted. `is_fallback` ones go by a channel because
another has failed for long. `due_on` is when it may be sent if it had to wait, for the `hours` or the `budget` of its
channel, or for a time that somebody has `chosen` (`due_reason`). `stored_on` is our time of storing if `created_on` is
the channel's time, otherwise null.
`offered_on` is when a phone was first asked to send it, `reported_on` the phone's time of its last report about it."""


class SavedReplyColumns(NamedRecordColumns):
    text: Named[str] = Column(Text)
    label_id: Named[int | None] = Column(BigId)
    closes_ticket: Named[bool] = Column(Boolean, default=False, server_default=false())
    created_on: Named[datetime] = Column(UtcDateTime)
    modified_on: Named[datetime] = Column(UtcDateTime)


saved_reply = numbered_table(
    "saved_reply",
    SavedReplyColumns,
    Index("uq_saved_reply_name", "workspace_id", "name_key", unique=True),
    Index("ix_saved_reply_page", "workspace_id", "created_on", "id"),
    info=policy(SET_UP, refers={"label_id": "label"}),
)
"""Texts that people of the workspace often send. With one goes what else is done then: the contact's last message gets
the label, the open ticket is closed."""


class OptinColumns(NamedRecordColumns):
    created_on: Named[datetime] = Column(UtcDateTime)


optin = numbered_table(
    "optin",
    OptinColumns,
    Index("uq_optin_name", "workspace_id", "name_key", unique=True),
    Index("ix_optin_page", "workspace_id", "created_on", "id"),
    info=policy(SET_UP, audited=Audited("optins", "name", ("name",))),
)


class TemplateColumns(RecordColumns):
    name: Named[str] = Column(String(TEMPLATE_NAME_LENGTH))
    name_key: Named[str] = Column(Text)
    created_on: Named[datetime] = Column(UtcDateTime)
    modified_on: Named[datetime] = Column(UtcDateTime)


template = numbered_table(
    "template",
    TemplateColumns,
    Index("uq_template_name", "workspace_id", "name_key", unique=True),
    Index("ix_template_page", "workspace_id", "modified_on", "id"),
    info=policy(SET_UP, audited=Audited("templates", "name", ("name",))),
)


class TemplateTranslationColumns(OwnedColumns):
    template_id: Named[int] = Column(BigId, ForeignKey("template.id"))
    channel_id: Named[int] = Column(Integer, ForeignKey("channel.id"))
    language: Named[str] = Column(String(3))
    locale: Named[str] = Column(String(6))
    content: Named[str] = Column(Text)
    namespace: Named[str] = Column(String(128), default="")
    variable_count: Named[int] = Column(Integer)
    status: Named[str] = Column(String(24))
    gateway_language: Named[str] = Column(String(16), default="", server_default="")
    external_id: Named[str] = Column(String(64), default="", server_default="")


template_translation = numbered_table(
    "template_translation",
    TemplateTranslationColumns,
    Index("uq_template_translation", "template_id", "channel_id", "locale", "workspace_id", unique=True),
    info=policy(SET_UP),
)
"""`locale` is an ISO 639-3 language, optionally with a country: `swa-KE`; `gateway_language` is what the gateway calls
it and `external_id` its id, if workers read its templates there. `content` has variables `{{1}}`, `{{2}}`."""


def _listed(*statuses: str) -> ColumnElement[bool]:
    listed: BindParameter[Any] = bindparam(None, statuses, expanding=True, literal_execute=True)
    return message.c.status.in_(listed)


IS_UNSENT = (message.c.direction == literal(OUTGOING, literal_execute=True)) & _listed(QUEUED, WIRED, ERRORED)
IS_UNHANDLED = (message.c.direction == literal(INCOMING, literal_execute=True)) & (
    message.c.status == literal(QUEUED, literal_execute=True)
)
IS_RARE = _listed(*RARE)
IS_WATCHED = message.c.failed_reason.in_([literal_column(f"'{reason}'") for reason in (UNCERTAIN, CIRCLE)])
IS_UNCERTAIN = IS_WATCHED & (message.c.failed_reason == literal_column(f"'{UNCERTAIN}'"))
IS_ARCHIVED = message.c.visibility == literal_column(f"'{ARCHIVED}'")
IS_VOICE = message.c.type == literal_column("'voice'")
IS_UNDELIVERED = message.c.status.not_in([literal_column(f"'{status}'") for status in (DELIVERED, READ)])
"""Conditions of partial indexes, repeated in statements: SQLite uses such an index only if the statement contains
its condition."""
NOT_DELETED = message.c.visibility != literal_column(f"'{DELETED}'")
"""As part of the text: of a parameter PostgreSQL expects that nothing is left, or plans each time anew."""

PENDING_COUNT = (
    select(func.count())
    .select_from(message)
    .where(message.c.channel_id == channel.c.id, message.c.workspace_id == channel.c.workspace_id)
    .where(IS_UNSENT, message.c.visibility == VISIBLE)
    .correlate(channel)
    .scalar_subquery()
)
"""The visible outgoing messages of a channel that are queued, wired or errored in the database."""
