"""The file of a backup: a ZIP archive with a manifest, the database as PostgreSQL or SQLite gives it, and the media,
whose parts are hashed while they are streamed.
"""

import errno
import hashlib
import os
import shutil
import sqlite3
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import orjson
from sqlalchemy import Connection, Table, text

from persistence.errors import BackupError
from persistence.media.store import MediaStore, StoredFile
from persistence.tables.complete import metadata
from persistence.workspace_files.writing import FORMAT as WORKSPACE_FORMAT
from relayboard.base.private_files import make_file, name_draft, open_new, remove_abandoned
from relayboard.base.progress import copy_reporting, report

PIECE_BYTES = 1 << 20
COMPRESSION_LEVEL = 1
WITHOUT_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS})
"""How file systems refuse hard links that know none, as on a USB stick."""

FORMAT = 1
NAME = "manifest.json"

FIRST, LATER = "media.tar", "media-later.tar"
SLACK_SECONDS = 5.0
PLACE = "database.sqlite"

# Without those that PostgreSQL adds by itself for each partition of a table.
_LIST = text(
    "select c.conname, t.relname, pg_get_constraintdef(c.oid) from pg_constraint c "
    "join pg_class t on t.oid = c.conrelid join pg_namespace n on n.oid = t.relnamespace "
    "where c.contype = 'f' and c.conparentid = 0 and n.nspname = current_schema() and t.relname = any(:tables)"
    " order by t.relname, c.conname"
)


@dataclass(slots=True)
class Member:
    """A part of the file: its bytes when unpacked, and their SHA-256 in hexadecimal."""

    size: int
    sha256: str


class HashedStream:
    """Counts and hashes the bytes that are written to it, and counts their line ends."""

    def __init__(self, below: IO[bytes]) -> None:
        self.size = 0
        self.lines = 0
        self._digest = hashlib.sha256()
        self._below = below

    def write(self, data: bytes) -> int:
        self.size += len(data)
        self.lines += data.count(b"\n")
        self._digest.update(data)
        return self._below.write(data)

    @property
    def member(self) -> Member:
        return Member(self.size, self._digest.hexdigest())


@dataclass(slots=True)
class TableManifest:
    """A table: its columns in the order of the values, and how many rows there are."""

    name: str
    columns: list[str]
    rows: int


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


class BackupWriter:
    """A backup that is being made; `draft` is its file until then, whose name no other run has."""

    def __init__(self, archive: zipfile.ZipFile, manifest: Manifest, draft: Path) -> None:
        self.manifest = manifest
        self.draft = draft
        self._archive = archive

    @contextmanager
    def member(self, name: str, *, compress: bool = True) -> Iterator[HashedStream]:
        """A part to write piece by piece."""
        self._archive.compression = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
        with self._archive.open(name, "w", force_zip64=True) as below:
            stream = HashedStream(below)
            yield stream
        self.manifest.members[name] = stream.member

    def finish(self) -> None:
        self._archive.writestr(NAME, self.manifest.to_json())


@contextmanager
def writing_backup(path: Path, manifest: Manifest) -> Iterator[BackupWriter]:
    """A new file, readable by its owner only, that gets its final name when everything is written. Raises
    BackupError."""
    if path.exists():
        raise _taken(path)
    remove_abandoned(path)
    draft = name_draft(path)
    try:
        with open_new(draft) as file:
            with zipfile.ZipFile(file, "w", compresslevel=COMPRESSION_LEVEL) as archive:
                writer = BackupWriter(archive, manifest, draft)
                yield writer
                writer.finish()
            file.flush()
            os.fsync(file.fileno())
        _publish(draft, path)
    finally:
        draft.unlink(missing_ok=True)


class BackupReader:
    """A backup whose manifest has been read."""

    def __init__(self, archive: zipfile.ZipFile, path: Path) -> None:
        self.path = path
        self._archive = archive
        try:
            self.manifest = Manifest.from_json(archive.read(NAME))
        except KeyError as error:
            raise BackupError(f"{path} is not a backup of Relayboard: it has no manifest") from error

    @contextmanager
    def member(self, name: str) -> Iterator[IO[bytes]]:
        with self._archive.open(name) as stream:
            yield stream

    def check(self) -> None:
        """Reads the whole file once. Raises BackupError if a part is missing or was changed."""
        total, done = sum(each.size for each in self.manifest.members.values()), 0
        for name, wanted in self.manifest.members.items():
            with self.member(name) as stream, open(os.devnull, "wb") as nowhere:
                hashed = HashedStream(nowhere)
                while piece := stream.read(PIECE_BYTES):
                    hashed.write(piece)
                    report("Checking the backup", done + hashed.size, total)
            done += hashed.size
            if hashed.member != wanted:
                raise BackupError(f"{self.path} is damaged: {name} is not what was written")


@contextmanager
def reading_backup(path: Path) -> Iterator[BackupReader]:
    """An existing backup. Raises BackupError for one that is damaged, also from within the block."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield BackupReader(archive, path)
    except (zipfile.BadZipFile, zlib.error, tarfile.TarError, EOFError, NotImplementedError) as error:
        raise BackupError(f"{path} is damaged, or is not a backup of Relayboard") from error
    except KeyError as error:
        raise BackupError(f"{path} is damaged: a part of it is missing") from error


def is_of_backup(manifest: Mapping[str, Any]) -> bool:
    """Whether the manifest of a file is that of a backup, of whatever version."""
    return isinstance(manifest.get("format"), int) and "members" in manifest


def stored_columns(table: Table) -> list[str]:
    """The stored columns; the database computes the others."""
    return [str(column.name) for column in table.c if column.computed is None]


class MediaPasses:
    """Files are copied before the database, and files added meanwhile after it. So each file that the rows of a backup
    name is included: files that were deleted meanwhile are in the first part.
    """

    def __init__(self, store: MediaStore, writer: BackupWriter) -> None:
        self._store = store
        self._writer = writer
        self._since = store.now() - SLACK_SECONDS
        self._taken: set[str] = set()

    def take_first(self) -> None:
        self._take(FIRST, 0.0)

    def take_later(self) -> None:
        self._take(LATER, self._since)

    def _take(self, part: str, since: float) -> None:
        manifest = self._writer.manifest
        with self._writer.member(part, compress=False) as stream, tarfile.open(fileobj=stream, mode="w|") as tar:  # type: ignore[call-overload]
            for name in self._store.list_names(since):
                if name in self._taken:
                    continue
                file = self._store.open(name)
                if file is None:  # deleted since it was listed
                    continue
                with file.stream:
                    info = _describe(name, file)
                    tar.addfile(info, file.stream)
                tar.members.clear()  # it would remember every file
                if info.mtime >= self._since:  # young enough to be listed again
                    self._taken.add(name)
                manifest.media_files += 1
                manifest.media_bytes += info.size
                report("Copying files", manifest.media_files)


def put_back(reader: BackupReader, store: MediaStore) -> None:
    """Writes all files into an empty store; files of the second part are the same or new."""
    done = 0
    for part in (FIRST, LATER):
        with reader.member(part) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
            for name, file in _files_of(tar):
                if not store.has(name):
                    with store.writing(name) as placed:
                        shutil.copyfileobj(file, placed, PIECE_BYTES)
                    done += 1
                    report("Putting back files", done, reader.manifest.media_files)


def take_away(store: MediaStore) -> None:
    """Deletes the files again after a failure; the store was empty before."""
    for name in store.list_names():
        store.remove(name)


def check_store_empty(store: MediaStore) -> None:
    """Raises BackupError if there are files."""
    if next(store.list_names(), None) is not None:
        raise BackupError(f"{store.place} holds files: restore into an empty one")


def place_of(table: str) -> str:
    return f"tables/{table}.copy"


def copy_out(connection: Connection, writer: BackupWriter) -> None:
    """Copies all tables, in a transaction with one snapshot, and then the last generated ids."""
    tables = metadata.sorted_tables
    for number, table in enumerate(tables):
        report("Writing tables", number, len(tables))
        columns = stored_columns(table)
        with writer.member(place_of(table.name)) as stream:
            # Not COPY of the table itself, which PostgreSQL refuses for partitioned tables.
            query = f'SELECT {_names(columns)} FROM "{table.name}"'
            _cursor(connection).copy_expert(f"COPY ({query}) TO STDOUT", stream)
        writer.manifest.tables.append(TableManifest(str(table.name), columns, stream.lines))
    writer.manifest.sequences = read_sequences(connection)


def copy_in(connection: Connection, reader: BackupReader) -> None:
    """Fills empty tables of the same revision, within a transaction."""
    aside = put_references_aside(connection)
    for number, table in enumerate(reader.manifest.tables):
        report("Restoring tables", number, len(reader.manifest.tables))
        with reader.member(place_of(table.name)) as stream:
            _cursor(connection).copy_expert(f"COPY {_table(table.name, table.columns)} FROM STDIN", stream)
    set_sequences(connection, reader.manifest.sequences)
    restore_references(connection, aside)


def copy_from(connection: Connection, table: str, columns: list[str], lines: bytes) -> None:
    """Adds rows that are lines already."""
    _cursor(connection).copy_expert(f"COPY {_table(table, columns)} FROM STDIN", BytesIO(lines))


def read_sequences(connection: Connection) -> dict[str, int]:
    """The last generated id of each table, 0 for none. Sequences are not part of snapshots, so they are never too
    low."""
    last = {}
    for table in metadata.sorted_tables:
        name = _sequence_of(connection, table.name) if "id" in table.c else None
        if name is not None:
            value, is_called = connection.exec_driver_sql(f"SELECT last_value, is_called FROM {name}").one()
            last[str(table.name)] = value if is_called else 0
    return last


def set_sequences(connection: Connection, last: dict[str, int]) -> None:
    """Sets the next id of each table after the last generated one and the largest existing one."""
    for table, value in last.items():
        name = _sequence_of(connection, table)
        if name is None:
            continue
        largest = connection.exec_driver_sql(f'SELECT coalesce(max(id), 0) FROM "{table}"').scalar_one()
        given = max(value, largest)
        statement = text("SELECT setval(cast(:name as regclass), :value, :is_called)")
        connection.execute(statement, {"name": name, "value": max(given, 1), "is_called": given > 0})


def copy_out_sqlite(source: Path, draft: Path, writer: BackupWriter) -> None:
    """A snapshot of the database; `draft` is a new temporary file next to the backup."""
    make_file(draft)
    try:
        with closing(sqlite3.connect(source)) as reading, closing(sqlite3.connect(draft)) as copy:
            # Copying all pages in one step holds one read lock, which does not block writers. Several steps would start
            # again after every write of another process.
            reading.backup(copy, pages=-1)
            copy.execute("PRAGMA journal_mode=DELETE")
            writer.manifest.tables = _count(copy)
        with writer.member(PLACE) as stream, draft.open("rb") as file:
            copy_reporting(file, stream, "Writing the database", draft.stat().st_size)
    finally:
        _remove(draft)


def copy_in_sqlite(reader: BackupReader, draft: Path) -> None:
    """The database as a file that nobody uses yet. Raises BackupError when SQLite finds it damaged."""
    _remove(draft)
    with reader.member(PLACE) as stream, open_new(draft) as file:
        copy_reporting(stream, file, "Restoring the database", reader.manifest.members[PLACE].size)
        file.flush()
        os.fsync(file.fileno())
    with closing(sqlite3.connect(draft)) as connection:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        counts = _count(connection)
    if found != "ok" or counts != reader.manifest.tables:
        _remove(draft)
        raise BackupError(f"{reader.path} is damaged: {found if found != 'ok' else 'rows are missing'}")


def put_in_place(draft: Path, target: Path) -> None:
    """Puts it where an unused database may be."""
    for ending in ("-wal", "-shm"):
        Path(f"{target}{ending}").unlink(missing_ok=True)
    draft.replace(target)


@dataclass(frozen=True, slots=True)
class Reference:
    table: str
    name: str
    definition: str


def put_references_aside(connection: Connection) -> list[Reference]:
    """Drops the foreign keys of our tables; what `restore_references` needs."""
    tables = [table.name for table in metadata.sorted_tables]
    found = [Reference(table, name, text_) for name, table, text_ in connection.execute(_LIST, {"tables": tables})]
    for each in found:
        connection.exec_driver_sql(f'ALTER TABLE "{each.table}" DROP CONSTRAINT "{each.name}"')
    return found


def restore_references(connection: Connection, references: list[Reference]) -> None:
    """Adds them again. Raises IntegrityError when a row refers to nothing."""
    for each in references:
        connection.exec_driver_sql(f'ALTER TABLE "{each.table}" ADD CONSTRAINT "{each.name}" {each.definition}')


def _publish(draft: Path, path: Path) -> None:
    """Gives the draft its final name. Raises BackupError if another run took it meanwhile."""
    try:
        _rename_to_new(draft, path)
    except FileExistsError as error:
        raise _taken(path) from error


def _rename_to_new(draft: Path, path: Path) -> None:
    """Raises FileExistsError, where a plain renaming would replace the file."""
    try:
        os.link(draft, path)
    except OSError as error:
        if error.errno not in WITHOUT_LINKS:
            raise
        open_new(path).close()
        draft.replace(path)


def _taken(path: Path) -> BackupError:
    return BackupError(f"{path} exists already: give the backup another name")


def _describe(name: str, file: StoredFile) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = file.size, file.modified, 0o600
    return info


def _files_of(tar: tarfile.TarFile) -> Iterator[tuple[str, tarfile.ExFileObject]]:
    for info in tar:
        file = tar.extractfile(info)
        if file is None or not info.isreg():
            raise BackupError(f"the backup holds {info.name}, which is no file")
        yield info.name, file  # type: ignore[misc]
        tar.members.clear()  # type: ignore[attr-defined]


def _sequence_of(connection: Connection, table: str) -> str | None:
    found = text("SELECT pg_get_serial_sequence(:table, 'id')")
    name: str | None = connection.execute(found, {"table": f'"{table}"'}).scalar_one()
    return name


def _table(name: str, columns: list[str]) -> str:
    return f'"{name}" ({_names(columns)})'


def _names(columns: list[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def _cursor(connection: Connection) -> Any:
    return connection.connection.cursor()


def _count(connection: sqlite3.Connection) -> list[TableManifest]:
    return [
        TableManifest(
            str(table.name),
            stored_columns(table),
            connection.execute(f'SELECT count(*) FROM "{table.name}"').fetchone()[0],
        )
        for table in metadata.sorted_tables
    ]


def _remove(draft: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        Path(f"{draft}{ending}").unlink(missing_ok=True)
