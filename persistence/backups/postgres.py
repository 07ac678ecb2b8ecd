"""PostgreSQL in a backup: each table as `COPY ... TO STDOUT` writes it (text format), all from one snapshot."""

from io import BytesIO
from typing import Any

from sqlalchemy import Connection, text

from persistence.backups.files import BackupReader, BackupWriter
from persistence.backups.manifest import TableManifest, stored_columns
from persistence.backups.references import put_references_aside, restore_references
from persistence.progress import report
from persistence.tables.complete import metadata


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
