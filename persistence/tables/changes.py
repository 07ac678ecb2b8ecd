from datetime import date, datetime

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    ForeignKey,
    Index,
    Integer,
    Named,
    String,
    UniqueConstraint,
)

from persistence.sql.columns import (
    BigId,
    LinkColumns,
    OwnedColumns,
    UtcDateTime,
    UuidText,
    numbered_table,
    partial_index,
    table_of,
)
from persistence.tables.messages import message
from persistence.tables.policies import TRIMMED, policy


class ConversationColumns(OwnedColumns):
    contact_id: Named[int] = Column(BigId, ForeignKey("contact.id"))
    message_id: Named[int] = Column(Integer)
    last_on: Named[datetime] = Column(UtcDateTime)
    folder: Named[str | None] = Column(String(8))
    unread_count: Named[int] = Column(Integer, default=0)
    is_unread: Named[bool] = Column(Boolean, default=False)
    read_id: Named[int] = Column(BigId, default=0)
    snoozed_until: Named[datetime | None] = Column(UtcDateTime)
    snoozed_by_id: Named[int | None] = Column(Integer)
    modified_on: Named[datetime | None] = Column(UtcDateTime)


conversation = numbered_table(
    "conversation",
    ConversationColumns,
    UniqueConstraint("workspace_id", "contact_id"),
    Index("ix_conversation_page", "workspace_id", "last_on", "id"),
    Index("ix_conversation_folder", "workspace_id", "folder", "last_on", "id"),
    Index("ix_conversation_contact", "contact_id"),
    partial_index(
        "ix_conversation_unread",
        "workspace_id",
        "last_on",
        "id",
        where="is_unread",
        sqlite_where="is_unread = 1",
    ),
    partial_index("ix_conversation_snoozed", "workspace_id", "snoozed_until", where="folder = 'snoozed'"),
    partial_index("ix_conversation_marked", "workspace_id", "modified_on", where="modified_on IS NOT NULL"),
    info=policy(
        "goes with its last message or contact",
        erased="apart",
        merged="apart",
        refers={"message_id": "message", "read_id": "message", "snoozed_by_id": "app_user"},
    ),
)


conversation.add_is_dependent_on(message)
"""A contact with messages: the last one that is not deleted, and the folder of that message. `unread_count` counts
messages of the inbox after the message `read_id`, among the last hundred of the contact. One that is put away is in the
folder `snoozed` until `snoozed_until`; once it is back, that time stays until another message is the last.
`modified_on` is when somebody put it away, read it, marked it as unread or wrote a note, or it came back."""


class ParticipantColumns(OwnedColumns):
    contact_id: Named[int | None] = Column(BigId, ForeignKey("contact.id"))
    flow_id: Named[int | None] = Column(BigId, ForeignKey("flow.id"))
    user_id: Named[int] = Column(Integer, ForeignKey("app_user.id"))
    state: Named[str] = Column(String(6))
    seen_on: Named[datetime] = Column(UtcDateTime)
    mentioned_on: Named[datetime | None] = Column(UtcDateTime)
    modified_on: Named[datetime] = Column(UtcDateTime)


participant = numbered_table(
    "participant",
    ParticipantColumns,
    UniqueConstraint("workspace_id", "contact_id", "user_id"),
    UniqueConstraint("workspace_id", "flow_id", "user_id"),
    CheckConstraint("(contact_id IS NULL) <> (flow_id IS NULL)", name="about"),
    Index("ix_participant_page", "workspace_id", "modified_on", "id"),
    Index("ix_participant_contact", "contact_id"),
    Index("ix_participant_user", "user_id", "workspace_id"),
    info=policy(
        "one for each conversation or drawn flow at which a person looks, or that waits for one who was named in it",
        erased="deleted",
        merged="user_id",
        is_carried=False,
    ),
)
"""Who of the workspace takes part in a conversation, or in drawing a flow: `state` is here, typing or gone, as
they said at `seen_on`; `mentioned_on` is when they were last named in a note at which they have not looked."""


class DayCountColumns(LinkColumns):
    kind: Named[str] = Column(String(12), primary_key=True)
    day: Named[date] = Column(Date, primary_key=True)
    subject: Named[int] = Column(BigId, primary_key=True)
    workspace_id: Named[int] = Column(Integer, ForeignKey("workspace.id"), primary_key=True)
    number: Named[int] = Column(BigInteger)


day_count = table_of(
    "day_count",
    DayCountColumns,
    Index("ix_day_count_page", "workspace_id", "kind", "day"),
    info=policy("what happened on a day, in the figures of the workspace", refers_by={"subject": "kind"}),
)
"""What happened on a day (UTC). `kind` is `came` or `went`, messages of the channel `subject` (0: of none), its
`errors` and the `segments` of the SMS that went, their `cost` in millionths, or `active`: contacts from
whom a first message of the day came (`subject` is 0). Of the messages that went, `arrived` are delivered or read by
now, and `lost` have failed. `automatic` is what a channel was given of its budget. The `subject` of what people did is
a user: messages that they `wrote`, and tickets that they have `taken` or were given."""


class FlowCountColumns(LinkColumns):
    flow_id: Named[int] = Column(BigId, ForeignKey("flow.id"), primary_key=True)
    kind: Named[str] = Column(String(8), primary_key=True)
    day: Named[date] = Column(Date, primary_key=True)
    key: Named[str] = Column(String(64), primary_key=True)
    value: Named[str] = Column(String(64), primary_key=True)
    workspace_id: Named[int] = Column(Integer, ForeignKey("workspace.id"), primary_key=True)
    number: Named[int] = Column(BigInteger)


flow_count = table_of(
    "flow_count",
    FlowCountColumns,
    info=policy("what runs did on a day, in the figures of a flow"),
)
"""What runs of a flow did on a day (UTC). `kind` is `exit`, passes through the exit with the UUID `key`, or `result`:
results with the key `key` that got the category `value`."""


class DeletionColumns(OwnedColumns):
    kind: Named[str] = Column(String(16))
    uuid: Named[str | None] = Column(UuidText)
    key: Named[str | None] = Column(String(36))
    merged_into: Named[str | None] = Column(UuidText)
    modified_on: Named[datetime] = Column(UtcDateTime)


deletion = numbered_table(
    "deletion",
    DeletionColumns,
    Index("ix_deletion_page", "workspace_id", "modified_on", "id"),
    Index("ix_deletion_kind", "workspace_id", "kind", "modified_on", "id"),
    Index("ix_deletion_age", "modified_on"),
    info=policy(TRIMMED),
)
"""A record of the API that is gone since `modified_on`, by the clock of the workspace: its UUID or key, and the UUID of
the contact into which a contact was merged."""


class RecordStampColumns(LinkColumns):
    kind: Named[str] = Column(String(9), primary_key=True)
    record: Named[int] = Column(BigId, primary_key=True)
    workspace_id: Named[int] = Column(Integer, ForeignKey("workspace.id"), primary_key=True)
    stamped_on: Named[datetime] = Column(UtcDateTime)


record_stamp = table_of(
    "record_stamp",
    RecordStampColumns,
    Index("ix_record_stamp_page", "workspace_id", "kind", "stamped_on", "record"),
    info=policy("goes with its record", refers_by={"record": "kind"}),
)
"""When a message, broadcast or channel (`kind`) last changed, by the clock of its workspace: in the order in which
changes become visible. The records have no such time themselves, because to write it a second time before the commit
would lock the rows that they refer to."""
