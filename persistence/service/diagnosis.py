"""What the doctor and the readiness of a process ask the database, and which workers are alive."""

import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import delete, inspect, select, text

from persistence.database import Database, Transaction, delete_old
from persistence.errors import DISK_FULL, NO_CONNECTIONS, PRIMARY_CODE, READ_ONLY, fault_of
from persistence.migrations import ENCODING, say_encoding
from persistence.secrets.encryption import SecretDamaged, SecretKeyChanged
from persistence.sql.columns import new_uuid
from persistence.tables.accounts import workspace
from persistence.tables.service import secret_key_check, worker_heartbeat

LONG_SECONDS = 10
"""Longer than any of our transactions holds a lock that others wait for."""
LOCK_WAIT_MS = 2000
FAULT_SECONDS = 60.0
"""What a write has found is told for so long, unless another write was possible."""
LEAST_BYTES = 4 * 1024 * 1024
FEW_CONNECTIONS = 3
POSTGRES_STATE = text(
    "select pg_is_in_recovery() or current_setting('default_transaction_read_only')::bool,"
    " current_setting('server_encoding'),"
    " (select count(*) from pg_stat_activity where backend_type = 'client backend'),"
    " current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
)
HELD_TABLES = text(
    "select min(relname), pid, coalesce(max(application_name), ''),"
    " max(extract(epoch from clock_timestamp() - xact_start))"
    " from pg_locks join pg_stat_activity using (pid) join pg_class on pg_class.oid = relation"
    " where locktype = 'relation' and granted and pid <> pg_backend_pid()"
    " and pg_locks.database = (select oid from pg_database where datname = current_database())"
    " and relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')"
    " and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')"
    " and xact_start < clock_timestamp() - make_interval(secs => :seconds)"
    " group by pid order by pid limit 1"
)
WAITING = text(
    "select locktype, (pg_blocking_pids(pid))[1], extract(epoch from clock_timestamp() - waitstart)"
    " from pg_locks join pg_stat_activity using (pid)"
    " where not granted and datname = current_database()"
    " and waitstart < clock_timestamp() - make_interval(secs => :seconds)"
    " order by locktype <> 'relation', waitstart limit 1"
)

DEFAULTS = {"shared_buffers": "128MB", "max_wal_size": "1GB", "min_wal_size": "80MB"}
"""Those of PostgreSQL itself."""

BEAT_SECONDS = 10.0
ALIVE_FOR = timedelta(seconds=45)
"""A worker that has not been seen for this long counts as dead: three missed heartbeats, and time for a slow fourth."""
KEPT_FOR = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """`now` is the moment of its own clock, `unknown_zones` those of workspaces that this machine does not know,
    `small_settings` those of PostgreSQL that are still at their defaults, for small databases.
    """

    version: str
    major_version: int
    is_postgres: bool
    time_zone: str
    now: datetime
    bytes: int
    unknown_zones: tuple[str, ...]
    small_settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trouble:
    """What an installation cannot work with, or soon cannot. `stops` says that it is not ready; the sentence may be
    told to everybody, the remedy is for operators.
    """

    check: str
    sentence: str
    remedy: str
    stops: bool = True


def find_troubles(database: Database) -> Iterator[Trouble]:
    """Why nothing can be written, or not everything, though the database answers. Raises DatabaseError."""
    if database.fault is not None and time.monotonic() - database.failed_at < FAULT_SECONDS:
        yield Trouble("writing", database.fault.sentence, database.fault.remedy)
        return
    yield from _find_in_sqlite(database) if database.sqlite else _find_in_postgres(database)


def database_file(database: Database) -> str:
    return str(database.engine.url.database)


def read_facts(database: Database) -> DatabaseFacts:
    zones = _list_unknown_zones(database)
    with database.reading() as tx:
        if database.sqlite:
            size = Path(database.engine.url.database or "").stat().st_size
            return DatabaseFacts(f"SQLite {sqlite3.sqlite_version}", 3, False, "UTC", datetime.now(UTC), size, zones)
        row = tx.execute(
            text(
                "select current_setting('server_version'), current_setting('server_version_num')::int / 10000, "
                "current_setting('TimeZone'), clock_timestamp(), pg_database_size(current_database())"
            )
        ).one()
        small = _list_small_settings(tx)
    version, major, zone, now, size = row
    version = f"PostgreSQL {version.split()[0]}"
    return DatabaseFacts(version, major, True, zone, now.astimezone(UTC), size, zones, small)


def is_one_database(first: Database, second: Database) -> bool:
    """Whether two addresses, of PostgreSQL, lead to one database of one server."""
    return _identify(first) == _identify(second)


def find_stored_key_fault(database: Database) -> str | None:
    """Why the secret key is not that of the database; None when it is, or when the database knows none yet."""
    with database.reading() as tx:
        try:
            _read_word(tx)
        except (SecretKeyChanged, SecretDamaged) as error:
            return str(error)
    return None


@dataclass(frozen=True, slots=True)
class Worker:
    """The description of a worker process; `revision` is the newest schema that its program knows."""

    host: str
    pid: int
    threads: int
    version: str
    revision: str | None
    uuid: str = field(default_factory=new_uuid)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A worker in the database."""

    uuid: str
    host: str
    pid: int
    threads: int
    version: str
    revision: str | None
    started_on: datetime
    seen_on: datetime
    is_alive: bool


def record_heartbeat(tx: Transaction, worker: Worker) -> None:
    """Record that the worker is alive now."""
    known: dict[str, Any] = {
        "uuid": worker.uuid,
        "host": worker.host[:255],
        "pid": worker.pid,
        "threads": worker.threads,
        "version": worker.version[:32],
        "revision": worker.revision,
    }
    statement = tx.upsert(worker_heartbeat).values(started_on=tx.now, seen_on=tx.now, **known)
    tx.execute(statement.on_conflict_do_update(index_elements=["uuid"], set_={"seen_on": tx.now}))


def end_heartbeat(tx: Transaction, worker: Worker) -> None:
    """Delete the row of a worker that stops cleanly."""
    tx.execute(delete(worker_heartbeat).where(worker_heartbeat.c.uuid == worker.uuid))


def list_heartbeats(tx: Transaction, limit: int = 1000) -> list[Heartbeat]:
    """All workers that have not stopped cleanly, the most recently seen first."""
    rows = worker_heartbeat.c
    found = tx.execute(select(worker_heartbeat).order_by(rows.seen_on.desc(), rows.id).limit(limit))
    return [
        Heartbeat(
            row.uuid,
            row.host,
            row.pid,
            row.threads,
            row.version,
            row.revision,
            row.started_on,
            row.seen_on,
            is_alive=tx.now - row.seen_on < ALIVE_FOR,
        )
        for row in found
    ]


def trim_heartbeats(tx: Transaction, limit: int) -> int:
    """Deletes workers that died and were not seen for KEPT_FOR; returns their number."""
    return delete_old(tx, worker_heartbeat.c.seen_on, KEPT_FOR, limit)


def _find_in_sqlite(database: Database) -> Iterator[Trouble]:
    if shutil.disk_usage(Path(database.engine.url.database or ".").absolute().parent).free < LEAST_BYTES:
        yield Trouble("writing", DISK_FULL.sentence, DISK_FULL.remedy)
    with closing(database.engine.raw_connection()) as connection:
        cursor = connection.cursor()
        usual = cursor.execute("pragma busy_timeout").fetchone()[0]
        before = cursor.execute("pragma data_version").fetchone()
        cursor.execute(f"pragma busy_timeout = {LOCK_WAIT_MS}")
        number = cursor.execute("pragma user_version").fetchone()[0]
        try:
            cursor.execute("begin immediate")
            # SQLite begins to read only, without an error, where the file cannot be written.
            cursor.execute(f"pragma user_version = {number}")
        except sqlite3.OperationalError as error:
            fault = fault_of(error)
            if fault is not None:
                yield Trouble("writing", fault.sentence, fault.remedy)
            elif error.sqlite_errorcode & PRIMARY_CODE != sqlite3.SQLITE_BUSY:
                raise
            elif before == cursor.execute("pragma data_version").fetchone():  # otherwise others write in turns
                yield Trouble(
                    "locks",
                    f"a program has held the write lock of the database for more than {LOCK_WAIT_MS / 1000:.0f} s",
                    f"find it with `fuser {database_file(database)}`, and end it",
                )
        finally:
            connection.rollback()
            cursor.execute(f"pragma busy_timeout = {usual}")


def _find_in_postgres(database: Database) -> Iterator[Trouble]:
    with database.reading() as tx:
        is_read_only, encoding, used, most = tx.execute(POSTGRES_STATE).one()
        held = tx.execute(HELD_TABLES, {"seconds": LONG_SECONDS}).one_or_none()
        waiting = tx.execute(WAITING, {"seconds": LONG_SECONDS}).one_or_none()
    if is_read_only:
        yield Trouble("writing", READ_ONLY.sentence, READ_ONLY.remedy)
    if encoding != ENCODING:
        yield Trouble("encoding", *say_encoding(encoding))
    if most - used <= FEW_CONNECTIONS:
        sentence = f"{used} of {most} connections of the database are taken"
        yield Trouble("connections", sentence, NO_CONNECTIONS.remedy, stops=False)
    if held is not None:
        table, pid, program, seconds = held
        sentence = (
            f"the session {pid} ({program or 'of another user'}) has locked the table {table} for {seconds:.0f} s"
        )
        yield Trouble("locks", sentence, _end(pid))
    elif waiting is not None:
        kind, pid, seconds = waiting
        sentence = f"the session {pid} holds a lock for which others have waited {seconds:.0f} s"
        yield Trouble("locks", sentence, _end(pid), stops=kind == "relation")


def _end(pid: int) -> str:
    return f"see in pg_stat_activity what it does, and end it with `select pg_terminate_backend({pid})`"


def _list_small_settings(tx: Transaction) -> tuple[str, ...]:
    larger = text("select pg_size_bytes(current_setting(:name)) > pg_size_bytes(:least)")
    return tuple(
        name for name, least in DEFAULTS.items() if not tx.execute(larger, {"name": name, "least": least}).scalar_one()
    )


def _list_unknown_zones(database: Database) -> tuple[str, ...]:
    if not inspect(database.engine).has_table(workspace.name):
        return ()
    with database.reading() as tx:
        names = tx.execute(select(workspace.c.timezone).distinct()).scalars().all()
    return tuple(name for name in names if not _is_zone(name))


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


def _identify(database: Database) -> tuple[datetime, int]:
    statement = "select pg_postmaster_start_time(), oid from pg_database where datname = current_database()"
    with database.reading() as tx:
        began, number = tx.execute(text(statement)).one()
    return began, number


def _read_word(tx: Transaction) -> str | None:
    return tx.execute(select(secret_key_check.c.word)).scalar_one_or_none()
