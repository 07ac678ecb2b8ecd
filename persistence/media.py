"""Uploaded media that messages attach."""

from sqlalchemy import Column, Index, Integer, String, Table, Text

from persistence.columns import id_column, metadata, time_column, uuid_column, workspace_column

media = Table(
    "media",
    metadata,
    id_column(),
    uuid_column(),
    workspace_column(),
    Column("content_type", String(255), nullable=False),
    Column("filename", String(255), nullable=False),
    Column("size", Integer, nullable=False),
    Column("path", Text, nullable=False),
    time_column("created_on"),
    Index("ix_media_workspace", "workspace_id", "id"),
    sqlite_autoincrement=True,
)
"""`path` is the file's place inside the media store, never an absolute path."""
