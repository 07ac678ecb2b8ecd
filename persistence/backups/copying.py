"""Moves an installation from SQLite to PostgreSQL, in steps that may be interrupted at any time. The target has a
temporary table with the source of the copy and the progress of each table: a batch of rows and its bookmark are one
transaction. The source is locked against writes meanwhile.

Whether two databases contain the same rows: counts and checksums that do not depend on the order of rows. Both are read
in a common form: times as the API writes them, Booleans as 0 and 1, and jsonb documents with sorted keys and plain
numbers.
"""

import contextlib
import hashlib
import json
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import psycopg2
from sqlalchemy import Boolean, Column, Connection, CursorResult, Float, Table, inspect, select, text
from sqlalchemy.engine import Dialect

from persistence.backups import files
from persistence.backups.files import Reference, put_references_aside, restore_references, stored_columns
from persistence.backups.writing import check_no_worker, check_unused, clear_own_rows
from persistence.database import Database
from persistence.errors import BackupError
from persistence.migrations import check_schema, current_revision, upgrade
from persistence.secrets.encryption import sealed_text
from persistence.sql.columns import JsonIndexed, UtcDateTime, UuidText
from persistence.sql.engines import IMPATIENT, WRITING, Busy, create_patient_engine, database_name
from persistence.tables.accounts import workspace
from persistence.tables.complete import metadata
from persistence.tables.service import secret_key_check
from relayboard.base.progress import report
from relayboard.base.settings import is_postgres, sqlite_file

BOOKMARKS = "database_copy"
BEGINNING = ""
BATCH_ROWS = 20_000
READ_ROWS = 1_000
BATCH_BYTES = 16 * 1024 * 1024

NULL = "\\N"
_SPECIAL = re.compile(r"[\\\t\n\r]")
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}

ROWS_AT_ONCE = 5000
WIDTH = 16


@dataclass(slots=True)
class Copied:
    """How many tables and rows the target has, and how many rows this run copied."""

    tables: int = 0
    rows: int = 0
    copied: int = 0
    seconds: float = 0.0


def copy_database(source_url: str, target_url: str) -> Copied:
    """Copies, or continues an interrupted copy, and compares. Raises BackupError, MigrationError."""
    source_file = sqlite_file(source_url)
    if source_file is None or not source_file.is_file():
        raise BackupError(
            "--from must name the file of a SQLite database that is there, like sqlite:///var/relayboard.db"
        )
    if not is_postgres(target_url):
        raise BackupError("--to must name a PostgreSQL database, like postgresql://user:password@host/name")
    began = time.monotonic()
    with (
        contextlib.closing(Database(source_url)) as source,
        contextlib.closing(Database(target_url)) as target,
        _held_source(source, source_file) as reading,
    ):
        name = database_name(target.engine)
        _prepare_target(target, name)
        engine = create_patient_engine(target.engine)
        with engine.connect() as writing:
            done = _Copy(reading, writing, name).run()
    done.seconds = time.monotonic() - began
    return done


@dataclass(slots=True)
class _Bookmark:
    """The progress of a table: the last copied row of SQLite, and whether all are copied."""

    last: int = 0
    is_copied: bool = False


@dataclass(frozen=True, slots=True)
class _Batch:
    """Rows as COPY reads them, and the last of them."""

    text: bytes
    rows: int
    last: int


@dataclass(slots=True)
class Checksum:
    """The number of rows, and the sum of their hashes (modulo 2**128)."""

    rows: int = 0
    total: int = 0

    def add(self, row: Sequence[object]) -> None:
        digest = hashlib.blake2b(orjson.dumps(row), digest_size=WIDTH).digest()
        self.rows += 1
        self.total = (self.total + int.from_bytes(digest, "big")) % (1 << 8 * WIDTH)


def _copy_line(values: Sequence[object]) -> bytes:
    """A row of SQLite as PostgreSQL's COPY reads it (text format): SQLite stores times, days, UUIDs and documents as
    texts that PostgreSQL reads unchanged, and Booleans as 0 and 1.
    """
    return ("\t".join(map(_field, values)) + "\n").encode()


def _field(value: object) -> str:
    if value is None:
        return NULL
    if isinstance(value, str):
        return _SPECIAL.sub(lambda found: _ESCAPES[found.group()], value)
    if isinstance(value, bytes):
        return f"\\\\x{value.hex()}"
    return repr(value)


def _plain(column: Column[Any], dialect: Dialect) -> str:
    """An expression of PostgreSQL for the value that SQLite has in a column."""
    name, kind = f'"{column.name}"', column.type
    if isinstance(kind, UtcDateTime):
        return f"to_char({name} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24\\:MI\\:SS.US\"Z\"')"
    if isinstance(kind, Boolean):
        return f"CAST({name} AS integer)"
    if isinstance(kind, Float):
        return name
    if isinstance(kind, UuidText | JsonIndexed) or kind.dialect_impl(dialect).python_type is not int:
        return f"CAST({name} AS text)"
    return name


def _sum(table: Table, rows: Iterable[Sequence[object]]) -> Checksum:
    taken_apart = [_is_taken_apart(column) for column in table.c]
    floats = [isinstance(column.type, Float) for column in table.c]
    summed = Checksum()
    if not any(taken_apart) and not any(floats):
        for row in rows:
            summed.add(tuple(row))
        return summed
    for row in rows:
        summed.add(
            [
                _sorted(value) if apart else float(value) if is_float and value is not None else value  # type: ignore[arg-type]
                for value, apart, is_float in zip(row, taken_apart, floats, strict=True)
            ]
        )
    return summed


def _is_taken_apart(column: Column[Any]) -> bool:
    return isinstance(column.type, JsonIndexed)


def _sorted(document: object) -> object:
    """A document without what jsonb does not keep: the order of keys, and the form of numbers."""
    if not isinstance(document, str):
        return document
    read = json.loads(document, parse_float=_number, parse_int=_number)
    return json.dumps(read, sort_keys=True, ensure_ascii=False)


def _number(written: str) -> str:
    return format(Decimal(written).normalize(), "f")


class _Copy:
    def __init__(self, source: Connection, target: Connection, name: str) -> None:
        self.source = source
        self.target = target
        self.name = name
        self.done = Copied()
        self.total = 0
        self.seen = 0

    def run(self) -> Copied:
        references = self._begin()
        self.total = sum(self._count(table) for table in metadata.sorted_tables)
        for table in metadata.sorted_tables:
            self._copy_table(table)
        for table in metadata.sorted_tables:
            self._compare(table)
        self._finish(references)
        return self.done

    def _begin(self) -> list[Reference]:
        """Marks the target for this copy, or checks the mark. Raises BackupError if it belongs to another copy."""
        origin = self._origin()
        with self.target.begin():
            if inspect(self.target).has_table(BOOKMARKS):
                noted = json.loads(self._noted(BEGINNING) or "{}")
                if noted["origin"] != origin:
                    raise BackupError(
                        f"{self.name} holds a copy that was begun from another database: choose an empty one"
                    )
                return [Reference(**each) for each in noted["references"]]
            check_unused(self.target, self.name)
            clear_own_rows(self.target)
            references = put_references_aside(self.target)
            self.target.exec_driver_sql(f"CREATE TABLE {BOOKMARKS} (name text PRIMARY KEY, note text NOT NULL)")
            self._note(BEGINNING, {"origin": origin, "references": [asdict(each) for each in references]})
            return references

    def _origin(self) -> str:
        """An identifier of the source: its sealed key check is random, and the first workspace has a UUID."""
        word = self.source.execute(select(sealed_text(secret_key_check.c.word))).scalar()
        first = self.source.execute(select(workspace.c.uuid).order_by(workspace.c.id).limit(1)).scalar()
        return f"{word} {first}"

    def _copy_table(self, table: Table) -> None:
        bookmark = self._bookmark(table)
        if bookmark.is_copied:
            self._see("Copying", self._count(table))
            return
        columns = stored_columns(table)
        quoted = ", ".join(f'"{name}"' for name in columns)
        rows = self.source.exec_driver_sql(
            f'SELECT rowid, {quoted} FROM "{table.name}" WHERE rowid > ? ORDER BY rowid', (bookmark.last,)
        )
        for batch in _batches(rows):
            with self.target.begin():
                self._copy_batch(table, columns, batch)
                bookmark.last = batch.last
                self._note(table.name, asdict(bookmark))
            self.done.copied += batch.rows
            self._see("Copying", batch.rows)
        with self.target.begin():
            bookmark.is_copied = True
            self._note(table.name, asdict(bookmark))

    def _count(self, table: Table) -> int:
        """The rows of a table of the source."""
        return int(self.source.exec_driver_sql(f'SELECT count(*) FROM "{table.name}"').scalar_one())

    def _see(self, what: str, rows: int) -> None:
        self.seen += rows
        report(what, self.seen, self.total)

    def _copy_batch(self, table: Table, columns: list[str], batch: "_Batch") -> None:
        try:
            files.copy_from(self.target, table.name, columns, batch.text)
        except psycopg2.Error as error:
            reason = " ".join(str(error).split())
            raise BackupError(f"rows of {table.name} cannot be copied: {reason}") from error

    def _compare(self, table: Table) -> None:
        """Each run compares everything: the source is locked only while a run lasts."""
        wanted = checksum_of_sqlite(self.source, table)
        self.done.tables += 1
        self.done.rows += wanted.rows
        report("Comparing", self.done.rows, self.total)
        with self.target.begin():
            found = checksum_of_postgres(self.target, table)
        if found != wanted:
            raise BackupError(
                f"the copy of {table.name} is not the same ({found.rows} rows of {wanted.rows}): it was changed, or "
                f"the source was used between two runs. Empty {self.name} and begin again"
            )

    def _finish(self, references: list[Reference]) -> None:
        given = self.source.exec_driver_sql("SELECT name, seq FROM sqlite_sequence").all()
        names = {table.name for table in metadata.sorted_tables}
        with self.target.begin():
            restore_references(self.target, references)
            sequences = dict.fromkeys(files.read_sequences(self.target), 0)
            files.set_sequences(self.target, sequences | {name: last for name, last in given if name in names})
            self.target.exec_driver_sql(f"DROP TABLE {BOOKMARKS}")
        with self.target.begin():
            self.target.exec_driver_sql("ANALYZE")

    def _bookmark(self, table: Table) -> _Bookmark:
        with self.target.begin():
            noted = self._noted(table.name)
        found = json.loads(noted or "{}")
        return _Bookmark(found.get("last", 0), found.get("is_copied", False))

    def _noted(self, name: str) -> str | None:
        found = text(f"SELECT note FROM {BOOKMARKS} WHERE name = :name")
        return self.target.execute(found, {"name": name}).scalar()

    def _note(self, name: str, note: dict[str, Any]) -> None:
        written = text(
            f"INSERT INTO {BOOKMARKS} (name, note) VALUES (:name, :note) "
            "ON CONFLICT (name) DO UPDATE SET note = excluded.note"
        )
        self.target.execute(written, {"name": name, "note": json.dumps(note)})


def checksum_of_sqlite(connection: Connection, table: Table) -> Checksum:
    columns = ", ".join(f'"{column.name}"' for column in table.c)
    rows = connection.exec_driver_sql(f'SELECT {columns} FROM "{table.name}"')
    return _sum(table, (row for part in rows.partitions(ROWS_AT_ONCE) for row in part))


def checksum_of_postgres(connection: Connection, table: Table) -> Checksum:
    columns = ", ".join(_plain(column, connection.dialect) for column in table.c)
    read = text(f'SELECT {columns} FROM "{table.name}"')
    return _sum(table, connection.execute(read.execution_options(stream_results=True, yield_per=ROWS_AT_ONCE)))


@contextlib.contextmanager
def _held_source(source: Database, file: Path) -> Iterator[Connection]:
    """The source, in a transaction that blocks writes."""
    check_schema(source.engine)
    with source.engine.connect() as connection:
        connection = connection.execution_options(**{WRITING: IMPATIENT})
        try:
            connection.begin()
        except Busy as error:
            raise BackupError(f"somebody is writing to {file}: stop the service first") from error
        check_no_worker(connection, str(file))
        yield connection
        connection.rollback()


def _prepare_target(target: Database, name: str) -> None:
    """Creates the tables of an empty target. Raises BackupError for a target that is in use, MigrationError."""
    if current_revision(target.engine) is not None:
        check_schema(target.engine)
        return
    with target.engine.connect() as connection:
        check_unused(connection, name)
    upgrade(target.engine)


def _batches(rows: CursorResult[Any]) -> Iterator[_Batch]:
    lines: list[bytes] = []
    size = last = 0
    for part in rows.partitions(READ_ROWS):
        for row in part:
            last = row[0]
            lines.append(_copy_line(row[1:]))
            size += len(lines[-1])
            if len(lines) == BATCH_ROWS or size >= BATCH_BYTES:
                yield _Batch(b"".join(lines), len(lines), last)
                lines, size = [], 0
    if lines:
        yield _Batch(b"".join(lines), len(lines), last)
