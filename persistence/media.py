"""Uploaded media that messages attach."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Column, Index, Integer, String, Table, Text, insert, select

from persistence.columns import id_column, metadata, time_column, uuid_column, workspace_column
from persistence.database import Transaction
from persistence.errors import InvalidInput

UUID = re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])", re.IGNORECASE | re.ASCII)

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


@dataclass(frozen=True, slots=True)
class MediaFile:
    """An uploaded file: its uuid, and the `content_type` and `url` that messages carry."""

    uuid: str
    content_type: str
    url: str

    @property
    def attachment(self) -> dict[str, str]:
        return {"content_type": self.content_type, "url": self.url}


def find_media(tx: Transaction, workspace_id: int, references: Iterable[str]) -> dict[str, MediaFile]:
    """Uploaded files of the workspace by the references that name them; one statement, unknown references are left out.

    A reference is a media uuid, or `type:url` text whose URL holds the uuid.
    """
    uuids = {reference: _uuids_in(reference) for reference in references}
    wanted = {uuid for found in uuids.values() for uuid in found}
    if not wanted:
        return {}
    statement = select(media.c.uuid, media.c.content_type, media.c.url)
    rows = tx.execute(statement.where(media.c.workspace_id == workspace_id, media.c.uuid.in_(wanted)))
    known = {row.uuid: MediaFile(row.uuid, row.content_type, row.url) for row in rows}
    named = {
        reference: next((known[uuid] for uuid in found if uuid in known), None) for reference, found in uuids.items()
    }
    return {reference: file for reference, file in named.items() if file is not None}


def find_attachments(
    tx: Transaction, workspace_id: int, references: Sequence[str], *, field: str = "attachments"
) -> list[dict[str, str]]:
    """What messages carry for the files that references name (see `find_media`).

    Raises InvalidInput at the first that names no media of the workspace.
    """
    known = find_media(tx, workspace_id, references)
    for index, reference in enumerate(references):
        if reference not in known:
            raise InvalidInput.at(field, index, f'Nothing found for "{reference[:64]}".')
    return [known[reference].attachment for reference in references]


def _uuids_in(reference: str) -> list[str]:
    """All uuids of a reference, the last one first: in URLs the file comes after its workspace."""
    return [found.lower() for found in UUID.findall(reference)][::-1]
