from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, Named, String, Text, UniqueConstraint

from persistence.sql.columns import (
    BigId,
    Json,
    LinkColumns,
    OwnedColumns,
    RecordColumns,
    UtcDateTime,
    UuidText,
    numbered_table,
    partial_index,
    table_of,
)
from persistence.tables.policies import TRIMMED, Audited, policy

READING, READY, PENDING, RUNNING, COMPLETED, FAILED = "reading", "ready", "pending", "running", "completed", "failed"
CANCELLED = "cancelled"
DUE = "status IN ('reading', 'pending', 'running')"


class JobColumns(RecordColumns):
    """The columns of every job with data of a workspace. A worker has it until `leased_until`. `attempts` counts how
    often one has had it since it got on."""

    user_id: Named[int | None] = Column(Integer, ForeignKey("app_user.id"))
    status: Named[str] = Column(String(9))
    error: Named[str | None] = Column(Text)
    leased_until: Named[datetime | None] = Column(UtcDateTime)
    attempts: Named[int] = Column(Integer, default=0, server_default="0")
    created_on: Named[datetime] = Column(UtcDateTime)
    finished_on: Named[datetime | None] = Column(UtcDateTime)


class DataJobColumns(JobColumns):
    """A job that makes a file: `location` is its place in the media store, `size` its bytes."""

    location: Named[str | None] = Column(Text)
    size: Named[int | None] = Column(BigInteger)


class ContactImportColumns(DataJobColumns):
    filename: Named[str] = Column(String(255))
    source: Named[str | None] = Column(Text)
    columns: Named[Any] = Column(Json, nullable=False)
    reading: Named[Any] = Column(Json, nullable=True)
    group_uuid: Named[str | None] = Column(UuidText)
    row_count: Named[int] = Column(Integer, default=0)
    last_row: Named[int] = Column(Integer, default=0)
    created: Named[int] = Column(Integer, default=0)
    updated: Named[int] = Column(Integer, default=0)
    rejected: Named[int] = Column(Integer, default=0)
    cancelled_on: Named[datetime | None] = Column(UtcDateTime)
    taken_back_on: Named[datetime | None] = Column(UtcDateTime)
    removed: Named[int] = Column(Integer, default=0, server_default="0")
    restored: Named[int] = Column(Integer, default=0, server_default="0")
    kept: Named[int] = Column(Integer, default=0, server_default="0")


contact_import = numbered_table(
    "contact_import",
    ContactImportColumns,
    Index("ix_contact_import_page", "workspace_id", "created_on", "id"),
    Index("ix_contact_import_age", "created_on", "id"),
    partial_index("ix_contact_import_due", "workspace_id", "id", where=DUE),
    info=policy(
        TRIMMED,
        erased="apart",
        audited=Audited("contact_imports", "filename", ("status", "cancelled_on", "taken_back_on")),
        is_carried=False,
    ),
)
"""`source` is the uploaded file in the media store, `location` the file of rejected rows. `columns` is a list of what
`persistence.contact_imports.columns.Column` holds; `reading` has "encoding", "date_style", "decimal_sign", "unread",
and in "said" which of them people chose. Rows up to `last_row` are done, committed together with their contacts. After
`cancelled_on` a worker only ends the import. After `taken_back_on` it takes it back: `removed`, `restored` and `kept`
count its contacts."""


class RejectedRowColumns(OwnedColumns):
    import_id: Named[int] = Column(BigId, ForeignKey("contact_import.id", ondelete="CASCADE"))
    number: Named[int] = Column(Integer)
    reason: Named[str] = Column(Text)
    cells: Named[Any] = Column(Json, nullable=False)


rejected_row = numbered_table(
    "rejected_row",
    RejectedRowColumns,
    Index("ix_rejected_row_import", "import_id", "number"),
    info=policy("goes with its import", erased="apart", is_carried=False),
)
"""Rows that an import rejected, until its file of them is written."""


class ImportedContactColumns(OwnedColumns):
    import_id: Named[int] = Column(BigId, ForeignKey("contact_import.id", ondelete="CASCADE"))
    contact_id: Named[int] = Column(BigId, ForeignKey("contact.id"))
    is_new: Named[bool] = Column(Boolean)
    changes: Named[Any] = Column(Json, nullable=False)


imported_contact = numbered_table(
    "imported_contact",
    ImportedContactColumns,
    Index("ix_imported_contact_import", "import_id", "contact_id", "id"),
    Index("ix_imported_contact_contact", "contact_id"),
    info=policy("goes with its import", erased="deleted", mentions="changes", merged="apart", is_carried=False),
)
"""What rows of an import changed, so that it can be taken back; a row is deleted with that. `changes` has in "values"
what was before and after, by "name", "language" or the UUID of a field, in "urns" schemes and paths that the contact
got, in "joined" whether it joined the group of the import."""


class ExportColumns(DataJobColumns):
    type: Named[str] = Column(String(8))
    format: Named[str] = Column(String(5))
    filters: Named[Any] = Column(Json, nullable=False)
    record_count: Named[int] = Column(Integer, default=0)


export = numbered_table(
    "export",
    ExportColumns,
    Index("ix_export_page", "workspace_id", "created_on", "id"),
    Index("ix_export_age", "created_on", "id"),
    partial_index("ix_export_due", "workspace_id", "id", where=DUE),
    info=policy(
        TRIMMED,
        erased="apart",
        documents=("filters",),
        audited=Audited("exports", "type", ("type", "format")),
        is_carried=False,
    ),
)
"""`filters` are the parameters of the list that is written, by name."""


class ContactJobColumns(JobColumns):
    action: Named[str] = Column(String(16))
    group_uuid: Named[str | None] = Column(UuidText)
    filters: Named[Any] = Column(Json, nullable=False)
    total: Named[int | None] = Column(Integer)
    done: Named[int] = Column(Integer, default=0)
    not_active: Named[int] = Column(Integer, default=0)
    last_contact_id: Named[int] = Column(BigId, default=0)
    end_contact_id: Named[int] = Column(BigId, default=0)


contact_job = numbered_table(
    "contact_job",
    ContactJobColumns,
    Index("ix_contact_job_page", "workspace_id", "created_on", "id"),
    Index("ix_contact_job_age", "created_on", "id"),
    partial_index("ix_contact_job_due", "workspace_id", "id", where=DUE),
    info=policy(
        TRIMMED,
        documents=("filters",),
        audited=Audited("contact_jobs", "action", ("action", "status")),
        is_carried=False,
    ),
)
"""An action on all contacts that match. `filters` are parameters of the list of contacts, by name. When it begins,
`total` is how many contacts match and `end_contact_id` the last contact that there is; contacts up to `last_contact_id`
are done, committed together with what was done with them. `not_active` counts those with whom it could not be done."""


class DataRequestColumns(DataJobColumns):
    type: Named[str] = Column(String(6))
    contact_uuid: Named[str] = Column(UuidText)
    contact_id: Named[int] = Column(BigId)
    counts: Named[Any] = Column(Json, nullable=False)
    requested_by: Named[str | None] = Column(String(254))
    rewritten_on: Named[datetime | None] = Column(UtcDateTime)


data_request = numbered_table(
    "data_request",
    DataRequestColumns,
    Index("ix_data_request_page", "workspace_id", "created_on", "id"),
    Index("ix_data_request_contact", "workspace_id", "contact_uuid", "created_on", "id"),
    partial_index("ix_data_request_due", "workspace_id", "id", where=DUE),
    partial_index("ix_data_request_file", "finished_on", "id", where="location IS NOT NULL"),
    info=policy(
        "the proof that a person's request was met",
        erased="apart",
        merged="left",
        audited=Audited("data_requests", "type", ("type", "contact_uuid")),
        emptied=("location", "size", "leased_until"),
        refers={"contact_id": "contact"},
    ),
)
"""What a person asked for by law: a copy of everything that is stored, or that it be erased. Rows are kept as proof:
`counts` has how much was found or erased, by kind; nothing in them tells who the person was. `rewritten_on` is when the
files of the database were rewritten after an erasure."""


class WorkspaceMoveColumns(OwnedColumns):
    source: Named[str] = Column(String(255))
    state: Named[Any] = Column(Json, nullable=False)
    created_on: Named[datetime] = Column(UtcDateTime)
    modified_on: Named[datetime] = Column(UtcDateTime)


workspace_move = numbered_table(
    "workspace_move",
    WorkspaceMoveColumns,
    UniqueConstraint("workspace_id", "source"),
    info=policy("a row for each server that a workspace came from", is_carried=False),
)
"""The server (URL) from which a workspace is copied. `state` is what `persistence.move.moves` reads and writes: how far
each kind has been read, and what people have done."""


class MovedRecordColumns(LinkColumns):
    move_id: Named[int] = Column(BigId, ForeignKey("workspace_move.id"), primary_key=True)
    kind: Named[str] = Column(String(20), primary_key=True)
    reference: Named[str] = Column(String(80), primary_key=True)
    record: Named[int | None] = Column(BigId)
    name: Named[str | None] = Column(String(128))
    note: Named[str | None] = Column(Text)


moved_record = table_of(
    "moved_record",
    MovedRecordColumns,
    Index("ix_moved_record_record", "move_id", "kind", "record"),
    partial_index("ix_moved_record_note", "move_id", "kind", "reference", where="note IS NOT NULL"),
    info=policy(
        "what a record of another server became here; as many as were moved in", erased="apart", is_carried=False
    ),
)
"""What a record of the other server (`reference`: its UUID, key or number there) became: the id of the `record` here,
null if it could not be carried. `note` says what was lost, of the record called `name`."""
