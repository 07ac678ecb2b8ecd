from datetime import datetime
from typing import Any

from sqlalchemy import Column, Index, Named, String, Text

from persistence.policies import TRIMMED, policy
from persistence.sql.columns import Json, RecordColumns, UtcDateTime, UuidText, numbered_table
from persistence.tables.accounts import EMAIL_LENGTH
from persistence.tables.sign_ins import ADDRESS_LENGTH


class AuditEventColumns(RecordColumns):
    resource: Named[str] = Column(String(32))
    action: Named[str] = Column(String(16))
    record_uuid: Named[str | None] = Column(UuidText)
    record_name: Named[str] = Column(Text)
    changes: Named[Any] = Column(Json, nullable=True)
    via: Named[str] = Column(String(8))
    actor_email: Named[str | None] = Column(String(EMAIL_LENGTH))
    token: Named[str | None] = Column(String(16))
    command: Named[str | None] = Column(String(64))
    address: Named[str | None] = Column(String(ADDRESS_LENGTH))
    created_on: Named[datetime] = Column(UtcDateTime)


audit_event = numbered_table(
    "audit_event",
    AuditEventColumns,
    Index("ix_audit_event_page", "workspace_id", "created_on", "id"),
    Index("ix_audit_event_resource", "workspace_id", "resource", "created_on", "id"),
    Index("ix_audit_event_action", "workspace_id", "action", "created_on", "id"),
    Index("ix_audit_event_record", "workspace_id", "record_uuid", "created_on", "id"),
    Index("ix_audit_event_actor", "workspace_id", "actor_email", "created_on", "id"),
    Index("ix_audit_event_created", "created_on"),
    info=policy(TRIMMED, documents=("changes",)),
)
"""Who changed what. It copies names and addresses, because it outlives the records; `changes` has the former and the
new value of each field, without secrets. `via` is session, token or command."""
