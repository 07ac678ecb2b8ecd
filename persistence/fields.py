"""Contact fields of a workspace."""

from sqlalchemy import Boolean, Column, Index, Integer, String, Table

from persistence.columns import id_column, metadata, name_columns, time_column, uuid_column, workspace_column

field = Table(
    "contact_field",
    metadata,
    id_column(),
    uuid_column(),
    workspace_column(),
    Column("key", String(36), nullable=False),
    *name_columns(36),
    Column("type", String(8), nullable=False),
    Column("is_featured", Boolean, nullable=False, default=False),
    Column("priority", Integer, nullable=False, default=0),
    Column("agent_access", String(4), nullable=False, default="view"),
    time_column("created_on"),
    Index("uq_contact_field_key", "workspace_id", "key", unique=True),
    Index("uq_contact_field_name", "workspace_id", "name_key", unique=True),
    Index("ix_contact_field_page", "workspace_id", "created_on", "id"),
    sqlite_autoincrement=True,
)
