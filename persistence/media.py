"""Uploaded media that messages attach."""

from collections.abc import Sequence

from sqlalchemy import Column, Index, Integer, String, Table, Text, insert, select

from persistence.columns import id_column, is_uuid, metadata, time_column, uuid_column, workspace_column
from persistence.database import Transaction
from persistence.errors import InvalidInput

media = Table(
    "media",
    metadata,
    id_column(),
    uuid_column(),
    workspace_column(),
    Column("content_type", String(255), nullable=False),
    Column("filename", String(255), nullable=False),
    Column("size", Integer, nullable=False),
    Column("url", Text, nullable=False),
    time_column("created_on"),
    Index("ix_media_workspace", "workspace_id", "id"),
    sqlite_autoincrement=True,
)


def add_media(
    tx: Transaction, workspace_id: int, uuid: str, *, content_type: str, filename: str, size: int, url: str
) -> None:
    """Record a file that the media store holds."""
    values = {"content_type": content_type, "filename": filename, "size": size, "url": url}
    tx.execute(insert(media).values(workspace_id=workspace_id, uuid=uuid, created_on=tx.now, **values))


def find_attachments(
    tx: Transaction, workspace_id: int, references: Sequence[str], *, field: str = "attachments"
) -> list[dict[str, str]]:
    """Attachments named by media uuid, or by `type:url` text whose URL holds the uuid; one statement.

    Raises InvalidInput at the first that names no media of the workspace.
    """
    uuids = [_uuid_in(reference) for reference in references]
    wanted = {uuid for uuid in uuids if uuid is not None}
    statement = select(media.c.uuid, media.c.content_type, media.c.url)
    rows = tx.execute(statement.where(media.c.workspace_id == workspace_id, media.c.uuid.in_(wanted))).all()
    known = {row.uuid: {"content_type": row.content_type, "url": row.url} for row in rows}
    for index, uuid in enumerate(uuids):
        if uuid is None or uuid not in known:
            raise InvalidInput.at(field, index, f'Nothing found for "{references[index][:64]}".')
    return [known[uuid] for uuid in uuids if uuid is not None]


def _uuid_in(reference: str) -> str | None:
    if is_uuid(reference):
        return reference.lower()
    parts = reference.replace(":", "/").replace(".", "/").split("/")
    return next((part.lower() for part in parts if is_uuid(part)), None)
