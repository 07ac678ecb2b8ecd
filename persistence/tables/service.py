from datetime import date, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    ForeignKey,
    Index,
    Integer,
    Named,
    String,
    Text,
    TypedColumns,
)

from persistence.secrets.encryption import sealed_column
from persistence.sql.columns import (
    BigId,
    Json,
    NamedRecordColumns,
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
from persistence.tables.accounts import ADDRESS_LENGTH, EMAIL_LENGTH
from persistence.tables.policies import SET_UP, TRIMMED, Audited, policy

BOUNDARY_NAME_LENGTH = 128

# Sorted by bytes on every database, independent of its locale.
_OsmId = String(32).with_variant(String(32, collation="C"), "postgresql")
_Name = String(BOUNDARY_NAME_LENGTH).with_variant(String(BOUNDARY_NAME_LENGTH, collation="C"), "postgresql")

GLOBAL_NAME_LENGTH = GLOBAL_KEY_LENGTH = 36
KEY_LENGTH = 255


class ArchiveColumns(OwnedColumns):
    archive_type: Named[str] = Column(String(7))
    period: Named[str] = Column(String(7))
    start_date: Named[date] = Column(Date)
    part: Named[int] = Column(Integer, default=0)
    record_count: Named[int] = Column(Integer)
    last_record_id: Named[int] = Column(BigId, default=0)
    stored_before: Named[datetime | None] = Column(UtcDateTime)
    size: Named[int] = Column(BigInteger)
    hash: Named[str | None] = Column(String(32))
    location: Named[str | None] = Column(Text)
    is_trimmed: Named[bool] = Column(Boolean, default=False)
    rollup_id: Named[int | None] = Column(BigId, ForeignKey("archive.id"))
    created_on: Named[datetime] = Column(UtcDateTime)


archive = numbered_table(
    "archive",
    ArchiveColumns,
    Index("uq_archive_period", "workspace_id", "archive_type", "period", "start_date", "part", unique=True),
    Index("ix_archive_page", "workspace_id", "start_date", "id"),
    partial_index("ix_archive_untrimmed", "workspace_id", where="NOT is_trimmed"),
    Index("ix_archive_rollup", "rollup_id"),
    info=policy("where the archived records are found", refers_by={"last_record_id": "archive_type"}),
)
"""`location` is the file's path in the media store, null without records. `part` numbers the archives of one period;
there is one unless records of that period appeared later. Until `is_trimmed` the archived records, those up to
`last_record_id` that were stored before `stored_before`, are still in the live tables too. `rollup_id` is the month
into which a day was merged."""


class BoundaryColumns(NumberedColumns):
    osm_id: Named[str] = Column(_OsmId, unique=True)
    name: Named[str] = Column(String(BOUNDARY_NAME_LENGTH))
    level: Named[int] = Column(Integer)
    parent_id: Named[int | None] = Column(Integer, ForeignKey("boundary.id"))
    country: Named[str] = Column(String(2))
    geometry: Named[Any] = Column(Json, nullable=True)


boundary = numbered_table(
    "boundary",
    BoundaryColumns,
    Index("ix_boundary_page", "country", "osm_id", "id"),
    Index("ix_boundary_parent", "parent_id"),
    info=policy(SET_UP),
)
"""`level` is 0 for a country to 3 for a ward; `country` the two-letter code of its country; `geometry` a GeoJSON
MultiPolygon. Boundaries do not belong to a workspace."""


class BoundaryAliasColumns(OwnedColumns):
    boundary_id: Named[int] = Column(Integer, ForeignKey("boundary.id"))
    name: Named[str] = Column(_Name)
    name_key: Named[str] = Column(Text)


boundary_alias = numbered_table(
    "boundary_alias",
    BoundaryAliasColumns,
    Index("uq_boundary_alias_name", "workspace_id", "boundary_id", "name_key", unique=True),
    Index("ix_boundary_alias_boundary", "boundary_id", "workspace_id"),
    info=policy(SET_UP),
)


class ClassifierColumns(NamedRecordColumns):
    type: Named[str] = Column(String(32))
    intents: Named[Any] = Column(Json, nullable=False)
    created_on: Named[datetime] = Column(UtcDateTime)


classifier = numbered_table(
    "classifier",
    ClassifierColumns,
    Index("uq_classifier_name", "workspace_id", "name_key", unique=True),
    Index("ix_classifier_page", "workspace_id", "created_on", "id"),
    info=policy(SET_UP, audited=Audited("classifiers", "name", ("name", "intents"))),
)
"""`intents` is a sorted list of names."""


class GlobalValueColumns(RecordColumns):
    key: Named[str] = Column(String(GLOBAL_KEY_LENGTH))
    name: Named[str] = Column(String(GLOBAL_NAME_LENGTH))
    name_key: Named[str] = Column(Text)
    value: Named[str] = Column(Text)
    created_on: Named[datetime] = Column(UtcDateTime)
    modified_on: Named[datetime] = Column(UtcDateTime)


global_value = numbered_table(
    "global_value",
    GlobalValueColumns,
    Index("uq_global_value_key", "workspace_id", "key", unique=True),
    Index("uq_global_value_name", "workspace_id", "name_key", unique=True),
    Index("ix_global_value_page", "workspace_id", "modified_on", "id"),
    info=policy(SET_UP, audited=Audited("globals", "name", hidden=("value",))),
)


class KeptAnswerColumns(TypedColumns):
    workspace_id: Named[int] = Column(Integer, ForeignKey("workspace.id"), primary_key=True)
    operation: Named[str] = Column(String(128), primary_key=True)
    key: Named[str] = Column(String(KEY_LENGTH), primary_key=True)
    request_hash: Named[str] = Column(String(64))
    status: Named[int | None] = Column(Integer)
    body: Named[str | None] = Column(Text)
    created_on: Named[datetime] = Column(UtcDateTime)


kept_answer = table_of(
    "idempotency_answer",
    KeptAnswerColumns,
    Index("ix_idempotency_answer_created_on", "created_on"),
    info=policy(TRIMMED, mentions="body", is_carried=False),
)


class SecretKeyCheckColumns(TypedColumns):
    id: Named[int] = Column(Integer, primary_key=True, autoincrement=False)
    word = sealed_column("secret_key_check", "word")


secret_key_check = table_of(
    "secret_key_check",
    SecretKeyCheckColumns,
    info=policy("one row"),
)
"""One row, which is sealed when the database is first used."""


class SchemaNoteColumns(TypedColumns):
    id: Named[int] = Column(Integer, primary_key=True, autoincrement=False)
    revision: Named[str] = Column(String(32))
    works_for: Named[str] = Column(String(32))
    version: Named[str] = Column(String(32))
    changed_on: Named[datetime] = Column(UtcDateTime)


schema_note = table_of(
    "schema_note",
    SchemaNoteColumns,
    info=policy("one row"),
)
"""One row, for programs older than the schema: `works_for` is the oldest revision that a program must know to work with
what `revision` has made; `version` is the program that changed the schema last."""


class RateWindowColumns(TypedColumns):
    workspace_id: Named[int] = Column(Integer, ForeignKey("workspace.id"), primary_key=True)
    scope: Named[str] = Column(String(24), primary_key=True)
    began_on: Named[datetime] = Column(UtcDateTime)
    taken: Named[int] = Column(Integer)


rate_window = table_of(
    "rate_window",
    RateWindowColumns,
    info=policy(TRIMMED, is_carried=False),
)


class WorkspaceClockColumns(TypedColumns):
    workspace_id: Named[int] = Column(Integer, ForeignKey("workspace.id"), primary_key=True, autoincrement=False)
    stamped_on: Named[datetime] = Column(UtcDateTime)
    told: Named[str | None] = Column(Text)


workspace_clock = table_of(
    "workspace_clock",
    WorkspaceClockColumns,
    info=policy("a row for each workspace"),
)
"""The last time given in each workspace; never before the time of any visible change. `told` are the types of events to
which somebody subscribes, with spaces between them: whoever moves the clock learns without another statement that
nobody does."""


class WorkerHeartbeatColumns(UuidColumns):
    host: Named[str] = Column(String(255))
    pid: Named[int] = Column(Integer)
    threads: Named[int] = Column(Integer)
    version: Named[str] = Column(String(32))
    revision: Named[str | None] = Column(String(32))
    started_on: Named[datetime] = Column(UtcDateTime)
    seen_on: Named[datetime] = Column(UtcDateTime)


worker_heartbeat = numbered_table(
    "worker_heartbeat",
    WorkerHeartbeatColumns,
    Index("ix_worker_heartbeat_seen", "seen_on"),
    info=policy(TRIMMED),
)
"""A row for each worker process, for all workspaces; it is deleted when the worker stops cleanly. `revision` is the
newest schema that its program knows."""


class WriteMarkColumns(TypedColumns):
    token_id: Named[int] = Column(BigId, primary_key=True, autoincrement=False)
    position: Named[int] = Column(BigInteger)
    noted_on: Named[datetime] = Column(UtcDateTime)
    primary_until: Named[datetime | None] = Column(UtcDateTime)


write_mark = table_of(
    "write_mark",
    WriteMarkColumns,
    info=policy("a row for each token"),
)
"""Where the write-ahead log stood when a token had written last. Kept only where lists are read from a standby."""


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
