"""The manifest of a backup, by which it can be checked before it is used."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson
from sqlalchemy import Table

from persistence.backups.errors import BackupError
from persistence.workspace_files.tables import FORMAT as WORKSPACE_FORMAT

FORMAT = 1
NAME = "manifest.json"


def is_of_backup(manifest: Mapping[str, Any]) -> bool:
    """Whether the manifest of a file is that of a backup, of whatever version."""
    return isinstance(manifest.get("format"), int) and "members" in manifest


@dataclass(slots=True)
class Member:
    """A part of the file: its bytes when unpacked, and their SHA-256 in hexadecimal."""

    size: int
    sha256: str


@dataclass(slots=True)
class TableManifest:
    """A table: its columns in the order of the values, and how many rows there are."""

    name: str
    columns: list[str]
    rows: int


def stored_columns(table: Table) -> list[str]:
    """The stored columns; the database computes the others."""
    return [str(column.name) for column in table.c if column.computed is None]


@dataclass(slots=True)
class Manifest:
    """`database` is sqlite or postgresql, `key_check` a value sealed with the secret key, which is not in the
    backup. `sequences` are the last generated ids by table, for PostgreSQL."""

    version: str
    revision: str
    database: str
    created_on: str
    key_check: str | None
    tables: list[TableManifest] = field(default_factory=list)
    sequences: dict[str, int] = field(default_factory=dict)
    members: dict[str, Member] = field(default_factory=dict)
    media_files: int = 0
    media_bytes: int = 0
    format: int = FORMAT

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)

    def to_json(self) -> bytes:
        return orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2) + b"\n"

    @classmethod
    def from_json(cls, text: bytes) -> "Manifest":
        """Raises BackupError for a manifest that no version has written, or only a later one."""
        try:
            read: dict[str, Any] = orjson.loads(text)
            if read["format"] == WORKSPACE_FORMAT:
                raise BackupError("this is the file of one workspace: `relayboard workspace import` brings it in")
            if read["format"] > FORMAT:
                raise BackupError("a newer version of Relayboard made this backup: restore it with that version")
            tables = [TableManifest(**each) for each in read.pop("tables")]
            members = {name: Member(**each) for name, each in read.pop("members").items()}
            return cls(**read, tables=tables, members=members)
        except (ValueError, KeyError, TypeError) as error:
            raise BackupError("this is not a backup of Relayboard, or its manifest is damaged") from error
