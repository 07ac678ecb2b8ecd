"""Whether a database holds anything that must not be lost."""

from collections.abc import Iterator

from sqlalchemy import Connection, Table, inspect

from persistence.backups.errors import BackupError
from persistence.database import Transaction, utc_now
from persistence.heartbeats import list_heartbeats
from persistence.tables.complete import metadata
from persistence.tables.service import schema_note, secret_key_check, worker_heartbeat

OWN = (schema_note, secret_key_check, worker_heartbeat)
"""What a service writes by starting, before anybody has used it."""


def check_unused(connection: Connection, name: str) -> None:
    """Raises BackupError if the database was used, or a worker is using it."""
    there = set(inspect(connection).get_table_names())
    used = next((table for table in _used_tables(connection, there) if table not in OWN), None)
    if used is not None:
        raise BackupError(f"the database {name} is not empty: there are rows in {used.name}. Choose an empty one")
    check_no_worker(connection, name)


def check_no_worker(connection: Connection, name: str) -> None:
    """Raises BackupError if there is a heartbeat of a worker in this database."""
    if worker_heartbeat.name in inspect(connection).get_table_names():
        alive = [each for each in list_heartbeats(Transaction(connection, utc_now)) if each.is_alive]
        if alive:
            raise BackupError(f"a worker on {alive[0].host} is working with {name}: stop the service there first")


def clear_own_rows(connection: Connection) -> None:
    """Deletes the rows that a service writes when it starts."""
    for table in OWN:
        connection.execute(table.delete())


def _used_tables(connection: Connection, there: set[str]) -> Iterator[Table]:
    for table in metadata.sorted_tables:
        if table.name in there and connection.exec_driver_sql(f'SELECT 1 FROM "{table.name}" LIMIT 1').first():
            yield table
