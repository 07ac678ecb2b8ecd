from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    Named,
    String,
    Text,
    TypedColumns,
    UniqueConstraint,
)

from persistence.secrets.encryption import sealed_column, sealed_json_column
from persistence.sql.columns import (
    BigId,
    Json,
    NumberedColumns,
    OwnedColumns,
    RecordColumns,
    UtcDateTime,
    UuidColumns,
    UuidText,
    numbered_table,
    partial_index,
    table_of,
)
from persistence.tables.policies import TRIMMED, Audited, policy


class ChannelAlarmColumns(OwnedColumns):
    channel_id: Named[int] = Column(Integer, ForeignKey("channel.id"))
    kind: Named[str] = Column(String(12))
    opened_on: Named[datetime] = Column(UtcDateTime)
    closed_on: Named[datetime | None] = Column(UtcDateTime)


channel_alarm = numbered_table(
    "channel_alarm",
    ChannelAlarmColumns,
    partial_index(
        "uq_channel_alarm_open", "channel_id", "kind", "workspace_id", where="closed_on IS NULL", unique=True
    ),
    Index("ix_channel_alarm_channel", "channel_id", "opened_on"),
    Index("ix_channel_alarm_closed", "closed_on", "id"),
    Index("ix_channel_alarm_page", "workspace_id", "opened_on", "id"),
    info=policy(TRIMMED),
)
"""At most one alarm of a kind is open per channel; the unique index decides races between workers."""


class ChannelEventColumns(RecordColumns):
    channel_id: Named[int] = Column(Integer, ForeignKey("channel.id"))
    contact_id: Named[int] = Column(BigId, ForeignKey("contact.id"))
    type: Named[str] = Column(String(16))
    urn: Named[str | None] = Column(String(255))
    extra: Named[Any] = Column(Json, nullable=True)
    external_id: Named[str | None] = Column(String(255))
    occurred_on: Named[datetime] = Column(UtcDateTime)
    created_on: Named[datetime] = Column(UtcDateTime)
    is_pending: Named[bool] = Column(Boolean, default=False)


channel_event = numbered_table(
    "channel_event",
    ChannelEventColumns,
    UniqueConstraint("channel_id", "external_id", "workspace_id"),
    Index("ix_channel_event_page", "workspace_id", "created_on", "id"),
    Index("ix_channel_event_contact", "contact_id", "created_on", "id"),
    Index("ix_channel_event_calls", "workspace_id", "type", "created_on", "id"),
    partial_index(
        "ix_channel_event_pending",
        "workspace_id",
        "created_on",
        "id",
        where="is_pending",
        sqlite_where="is_pending = 1",
    ),
    info=policy(
        "the calls of contacts; nothing archives them, and they go with their contact",
        erased="apart",
        copied="calls",
        merged="moved",
    ),
)
"""`external_id` identifies a phone's report (number, type and time), unique per channel: a repeat creates no second
event. `is_pending` events are not yet compared with triggers."""


class ChannelColumns(UuidColumns):
    workspace_id: Named[int | None] = Column(Integer, ForeignKey("workspace.id"))
    type: Named[str] = Column(String(16))
    name: Named[str | None] = Column(String(64))
    address: Named[str | None] = Column(String(255))
    country: Named[str | None] = Column(String(2))
    schemes: Named[Any] = Column(Json, nullable=False)
    is_active: Named[bool] = Column(Boolean, default=True)
    created_on: Named[datetime] = Column(UtcDateTime)
    last_seen: Named[datetime | None] = Column(UtcDateTime)
    device_uuid: Named[str | None] = Column(String(64))
    claim_code: Named[str | None] = Column(String(9), unique=True)
    secret = sealed_column("channel", "secret")
    previous_secret = sealed_column("channel", "previous_secret")
    secret_rotated_on: Named[datetime | None] = Column(UtcDateTime)
    is_secret_used: Named[bool] = Column(Boolean, default=False)
    parted_from_id: Named[int | None] = Column(Integer)
    push_token = sealed_column("channel", "push_token")
    push_via: Named[str | None] = Column(String(255))
    device: Named[str | None] = Column(String(255))
    os: Named[str | None] = Column(String(255))
    app_version: Named[str | None] = Column(String(64))
    power_level: Named[int] = Column(Integer, default=-1)
    power_status: Named[str | None] = Column(String(64))
    power_source: Named[str | None] = Column(String(64))
    network_type: Named[str | None] = Column(String(128))
    pending_count: Named[int] = Column(Integer, default=0)
    retry_count: Named[int] = Column(Integer, default=0)
    config = sealed_json_column("channel", "config")
    messages_per_second: Named[float | None] = Column(Float)
    allow_international: Named[bool | None] = Column(Boolean)
    """None in channels from before there was this choice: they allow it, so that an upgrade stops no messages."""
    transliterates: Named[bool | None] = Column(Boolean)
    segment_cost: Named[int | None] = Column(BigInteger)
    sending_hours: Named[str | None] = Column(String(64))
    automatic_per_day: Named[int | None] = Column(Integer)
    down_since: Named[datetime | None] = Column(UtcDateTime)
    failing_since: Named[datetime | None] = Column(UtcDateTime)
    failures: Named[int] = Column(Integer, default=0, server_default="0")
    paced_until: Named[datetime | None] = Column(UtcDateTime)
    paused_until: Named[datetime | None] = Column(UtcDateTime)
    webhook_url: Named[str | None] = Column(Text)
    webhook_events: Named[list[str] | None] = Column[Any](Json, nullable=True)
    webhook_secret = sealed_column("channel", "webhook_secret")
    webhook_previous_secret = sealed_column("channel", "webhook_previous_secret")
    webhook_rotated_on: Named[datetime | None] = Column(UtcDateTime)
    refused_on: Named[datetime | None] = Column(UtcDateTime)
    refused_reason: Named[str | None] = Column(String(16))
    templates_due_on: Named[datetime | None] = Column(UtcDateTime)
    templates_error: Named[str | None] = Column(Text)


channel = numbered_table(
    "channel",
    ChannelColumns,
    Index("ix_channel_page", "workspace_id", "created_on", "id"),
    Index("ix_channel_seen", "workspace_id", "last_seen", "id"),
    Index("ix_channel_address", "workspace_id", "address"),
    partial_index("uq_channel_device", "device_uuid", where="is_active AND parted_from_id IS NULL", unique=True),
    Index("ix_channel_device", "device_uuid"),
    Index("ix_channel_parted_from", "parted_from_id"),
    partial_index("ix_channel_templates", "templates_due_on", "id", where="templates_due_on IS NOT NULL"),
    info=policy(
        TRIMMED,
        audited=Audited(
            "channels",
            "name",
            (
                *("name", "address", "country", "webhook_events", "messages_per_second", "allow_international"),
                *("transliterates", "segment_cost", "sending_hours", "automatic_per_day"),
            ),
            ("secret", "config", "webhook_url", "webhook_secret"),
            ended={"is_active": False},
        ),
        refers={"parted_from_id": "channel"},
    ),
)

"""A phone that registers again keeps its previous secret until the new one is used (`previous_secret`).
`parted_from_id` is the phone with whose id and device UUID this one syncs, with its own secret (see
`persistence.relayers`). Push tokens are sealed because they let a phone register again; `push_via` says who delivers to
them (`persistence.relayers.pushes`); `config` contains how a
gateway is called, with its credentials. The `secret` of a gateway authenticates the gateway's own calls; for a day
after a rotation the previous one is accepted too. `segment_cost` is in millionths; `persistence.channels.terms` says
what it means, and what the next columns mean. `down_since` is when others began to be used instead of it, because it
failed for long; a gateway has had so many `failures` in a row since `failing_since`. `templates_due_on` is when a
worker reads the gateway's templates next, if it has any, and `templates_error` why it could not."""


class GatewayCallColumns(OwnedColumns):
    channel_id: Named[int] = Column(Integer, ForeignKey("channel.id"))
    contact_id: Named[int] = Column(BigId)
    message_id: Named[int] = Column(BigId)
    part: Named[int] = Column(Integer)
    outcome: Named[str] = Column(String(10))
    method: Named[str] = Column(String(8))
    url: Named[str] = Column(Text)
    headers: Named[Any] = Column(Json, nullable=False)
    body: Named[str | None] = Column(Text)
    status: Named[int | None] = Column(Integer)
    answer: Named[str | None] = Column(Text)
    error: Named[str | None] = Column(Text)
    duration_ms: Named[int] = Column(Integer)
    created_on: Named[datetime] = Column(UtcDateTime)
    direction: Named[str] = Column(String(3), default="out", server_default="out")
    result: Named[str | None] = Column(Text)


gateway_call = numbered_table(
    "gateway_call",
    GatewayCallColumns,
    Index("ix_gateway_call_page", "workspace_id", "created_on", "id"),
    Index("ix_gateway_call_channel", "channel_id", "created_on", "id"),
    Index("ix_gateway_call_outcome", "workspace_id", "outcome", "created_on", "id"),
    Index("ix_gateway_call_direction", "workspace_id", "direction", "created_on", "id"),
    Index("ix_gateway_call_contact", "contact_id"),
    info=policy(TRIMMED, erased="rows", merged="moved", is_carried=False),
)
"""The latest calls to gateways and by them, with secrets hidden: a sample if there are many. A call outlives its
message for a few days, so it has no reference to it; one without a message or contact has 0. `result` is what became of
a call by a gateway."""


class ChannelCheckColumns(OwnedColumns):
    channel_id: Named[int] = Column(Integer, ForeignKey("channel.id"))
    kind: Named[str] = Column(String(8))
    state: Named[str] = Column(String(8))
    asks: Named[int] = Column(Integer)
    attempts: Named[int] = Column(Integer)
    due_on: Named[datetime | None] = Column(UtcDateTime)
    asked_on: Named[datetime] = Column(UtcDateTime)
    checked_on: Named[datetime | None] = Column(UtcDateTime)
    error: Named[str | None] = Column(Text)


channel_check = numbered_table(
    "channel_check",
    ChannelCheckColumns,
    Index("uq_channel_check", "channel_id", "kind", "workspace_id", unique=True),
    Index("ix_channel_check_page", "workspace_id", "asked_on", "id"),
    partial_index("ix_channel_check_due", "due_on", "id", where="due_on IS NOT NULL"),
    info=policy("two rows for each gateway", is_carried=False),
)
"""What a provider was asked beside sending, and what it said last (`persistence.channels.checks`). `asks` counts how
often that was wanted, `attempts` the requests since. `due_on` is when a worker asks, and the end of its lease while it
does; None once it is settled."""


class GatewayPartColumns(OwnedColumns):
    channel_id: Named[int] = Column(Integer, ForeignKey("channel.id"))
    external_id: Named[str] = Column(String(255))
    contact_id: Named[int | None] = Column(BigId)
    message_id: Named[int | None] = Column(BigId)
    part: Named[int] = Column(Integer, default=0)
    state: Named[int] = Column(Integer, default=0)
    state_on: Named[datetime | None] = Column(UtcDateTime)
    reason: Named[str | None] = Column(Text)
    created_on: Named[datetime] = Column(UtcDateTime)


gateway_part = numbered_table(
    "gateway_part",
    GatewayPartColumns,
    Index("uq_gateway_part", "channel_id", "external_id", "workspace_id", unique=True),
    Index("ix_gateway_part_message", "message_id", "workspace_id"),
    Index("ix_gateway_part_contact", "contact_id"),
    Index("ix_gateway_part_age", "created_on", "id"),
    info=policy(TRIMMED, erased="rows", merged="moved", is_carried=False),
)
"""The parts of messages by the ids that providers gave them, with what the statuses said last (`gateway_parts.py`), and
the `reason` of one that failed. A status that came before its part was recorded has no message yet."""


class ChannelConnectionColumns(OwnedColumns):
    channel_id: Named[int] = Column(Integer, ForeignKey("channel.id"))
    leased_until: Named[datetime | None] = Column(UtcDateTime)
    holder: Named[str | None] = Column(UuidText)
    state: Named[str] = Column(String(10))
    reason: Named[str | None] = Column(Text)
    changed_on: Named[datetime] = Column(UtcDateTime)
    remembered: Named[Any] = Column(Json, nullable=False)


channel_connection = numbered_table(
    "channel_connection",
    ChannelConnectionColumns,
    Index("uq_channel_connection", "channel_id", "workspace_id", unique=True),
    info=policy("one row for each channel whose connection to its provider is kept", is_carried=False),
)
"""One worker process has the connection of a channel at a time, the `holder` until `leased_until`. `remembered` is
what the next one has to know of it: which reports it may be told again, or how far a mailbox was read."""


class MessagePieceColumns(OwnedColumns):
    channel_id: Named[int] = Column(Integer, ForeignKey("channel.id"))
    sender: Named[str] = Column(String(64))
    destination: Named[str] = Column(String(64))
    reference: Named[int] = Column(Integer)
    total: Named[int] = Column(Integer)
    number: Named[int] = Column(Integer)
    text: Named[str] = Column(Text)
    received_on: Named[datetime] = Column(UtcDateTime)


message_piece = numbered_table(
    "message_piece",
    MessagePieceColumns,
    Index(
        "uq_message_piece",
        *("channel_id", "sender", "destination", "reference", "total", "number", "workspace_id"),
        unique=True,
    ),
    Index("ix_message_piece_age", "received_on", "id"),
    info=policy(TRIMMED, mentions="sender", is_carried=False),
)
"""Parts of incoming messages of which others are missing. After some minutes what is there is the message."""


class MessageThreadColumns(OwnedColumns):
    channel_id: Named[int] = Column(Integer, ForeignKey("channel.id"))
    contact_id: Named[int] = Column(BigId)
    reference: Named[str] = Column(String(255))
    subject: Named[str] = Column(String(255))


message_thread = numbered_table(
    "message_thread",
    MessageThreadColumns,
    Index("uq_message_thread", "channel_id", "contact_id", "workspace_id", unique=True),
    Index("ix_message_thread_contact", "contact_id"),
    info=policy(
        "a row for each contact that writes through a channel whose messages have subjects",
        erased="deleted",
        merged="channel_id",
        is_carried=False,
    ),
)
"""The provider's id and the subject of what a contact wrote last, for answers (`threads.py`)."""


class ForgottenReportColumns(OwnedColumns):
    channel_id: Named[int] = Column(Integer, ForeignKey("channel.id"))
    report_key: Named[str] = Column(String(255))
    forgotten_on: Named[datetime] = Column(UtcDateTime)


forgotten_report = numbered_table(
    "forgotten_report",
    ForgottenReportColumns,
    Index("uq_forgotten_report", "channel_id", "report_key", "workspace_id", unique=True),
    Index("ix_forgotten_report_age", "forgotten_on", "id"),
    info=policy(TRIMMED),
)
"""`report_key` is the `external_id` that a channel event had: a hash, which reveals nothing about the contact."""


class FormerChannelColumns(OwnedColumns):
    channel_id: Named[int] = Column(Integer, ForeignKey("channel.id"))
    uuid: Named[str] = Column(UuidText)
    name: Named[str | None] = Column(String(64))
    address: Named[str | None] = Column(String(255))
    webhook_url: Named[str | None] = Column(Text)
    webhook_events: Named[Any] = Column(Json, nullable=True)
    webhook_secret = sealed_column("former_channel", "webhook_secret")
    webhook_previous_secret = sealed_column("former_channel", "webhook_previous_secret")
    webhook_rotated_on: Named[datetime | None] = Column(UtcDateTime)
    left_on: Named[datetime] = Column(UtcDateTime)


former_channel = numbered_table(
    "former_channel",
    FormerChannelColumns,
    Index("uq_former_channel", "channel_id", "workspace_id", unique=True),
    info=policy("a row for each workspace that a phone has left"),
)
"""One row for each workspace that a phone has left, until it returns. The receiver's secrets are kept because
earlier events may still have to be delivered."""
CLAIM_CODE_LENGTH = 9


class WaitingRegistrationColumns(NumberedColumns):
    channel_id: Named[int] = Column(Integer, ForeignKey("channel.id"))
    claim_code: Named[str] = Column(String(CLAIM_CODE_LENGTH), unique=True)
    secret = sealed_column("waiting_registration", "secret")
    push_token = sealed_column("waiting_registration", "push_token")
    country: Named[str | None] = Column(String(2))
    device: Named[str | None] = Column(String(255))
    os: Named[str | None] = Column(String(255))
    last_seen: Named[datetime] = Column(UtcDateTime)


waiting_registration = numbered_table(
    "waiting_registration",
    WaitingRegistrationColumns,
    Index("ix_waiting_registration_channel", "channel_id"),
    Index("ix_waiting_registration_seen", "last_seen"),
    info=policy(TRIMMED),
)
"""A registration with the device UUID of a known phone but another push token, until it is claimed."""


MESSAGES, CLAIM, RELEASE = "messages", "claim", "release"
"""Why a phone is pushed."""
SETTLED = timedelta(seconds=5)
"""Who was here so lately is not pushed: the answer may still wait for the replies of flows, three seconds."""


class PhonePushColumns(OwnedColumns):
    channel_id: Named[int] = Column(Integer, ForeignKey("channel.id"))
    via: Named[str] = Column(String(255))
    reason: Named[str] = Column(String(8))
    due_on: Named[datetime | None] = Column(UtcDateTime)
    pushes: Named[int] = Column(Integer)
    pushed_on: Named[datetime | None] = Column(UtcDateTime)
    seen_on: Named[datetime | None] = Column(UtcDateTime)
    token = sealed_column("phone_push", "token")
    refused_token = sealed_column("phone_push", "refused_token")
    refused_on: Named[datetime | None] = Column(UtcDateTime)
    error: Named[str | None] = Column(Text)
    failed_on: Named[datetime | None] = Column(UtcDateTime)


phone_push = numbered_table(
    "phone_push",
    PhonePushColumns,
    Index("uq_phone_push", "channel_id", "workspace_id", unique=True),
    partial_index("ix_phone_push_due", "workspace_id", "via", "due_on", "id", where="due_on IS NOT NULL"),
    info=policy("a row for each phone", is_carried=False),
)
"""What is to be pushed to a phone (`persistence.relayers.pushes`). `due_on` is when, and the end of a lease while a
worker pushes; None if nothing is to be. `pushes` counts those that began since a `reason` came, the last one at
`pushed_on`; `seen_on` is when the phone had been seen last when the reason came. `token` is that of a released phone,
whose channel has none any more. `refused_token` is one that its provider does not know."""


class SyncRecordColumns(OwnedColumns):
    channel_id: Named[int] = Column(Integer, ForeignKey("channel.id"))
    created_on: Named[datetime] = Column(UtcDateTime)
    power_level: Named[int] = Column(Integer)
    power_status: Named[str | None] = Column(String(64))
    power_source: Named[str | None] = Column(String(64))
    network_type: Named[str | None] = Column(String(128))
    pending_count: Named[int] = Column(Integer)
    retry_count: Named[int] = Column(Integer)
    incoming_count: Named[int] = Column(Integer)
    outgoing_count: Named[int] = Column(Integer)


sync_record = numbered_table(
    "sync_record",
    SyncRecordColumns,
    Index("ix_sync_record_channel", "channel_id", "id"),
    Index("ix_sync_record_created_on", "created_on"),
    info=policy(TRIMMED),
)

ADDRESS_LENGTH = 64


class RegistrationWindowColumns(TypedColumns):
    address: Named[str] = Column(String(ADDRESS_LENGTH), primary_key=True)
    began_on: Named[datetime] = Column(UtcDateTime)
    taken: Named[int] = Column(Integer)


registration_window = table_of(
    "registration_window",
    RegistrationWindowColumns,
    Index("registration_window_began", "began_on"),
    info=policy(TRIMMED),
)


class WebchatVisitorColumns(OwnedColumns):
    channel_id: Named[int] = Column(Integer, ForeignKey("channel.id"))
    contact_id: Named[int] = Column(BigId)
    code: Named[str] = Column(String(24))
    path: Named[str] = Column(String(255))
    token_hash: Named[str] = Column(String(64))
    created_on: Named[datetime] = Column(UtcDateTime)


webchat_visitor = numbered_table(
    "webchat_visitor",
    WebchatVisitorColumns,
    Index("uq_webchat_visitor", "code", "workspace_id", unique=True),
    Index("ix_webchat_visitor_contact", "contact_id"),
    Index("ix_webchat_visitor_channel", "channel_id"),
    info=policy(
        "a browser that writes from a site, until its contact goes",
        erased="deleted",
        merged="moved",
        is_carried=False,
        refers={"contact_id": "contact"},
    ),
)
"""`path` is that of the contact's URN, and begins with `code`. Of the token that proves that a request is the visitor's
there is only the SHA-256. Who has the URN now is the visitor's contact; with `contact_id` the row goes."""
