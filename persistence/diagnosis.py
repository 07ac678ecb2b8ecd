"""What the doctor asks the database."""

import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from sqlalchemy import inspect, select, text

from persistence.database import Database, Transaction
from persistence.secrets.encryption import SecretDamaged, SecretKeyChanged
from persistence.tables.accounts import workspace
from persistence.tables.service import secret_key_check


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


DEFAULTS = {"shared_buffers": "128MB", "max_wal_size": "1GB", "min_wal_size": "80MB"}
"""Those of PostgreSQL itself."""


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


def is_one_database(first: Database, second: Database) -> bool:
    """Whether two addresses, of PostgreSQL, lead to one database of one server."""
    return _identify(first) == _identify(second)


def _identify(database: Database) -> tuple[datetime, int]:
    statement = "select pg_postmaster_start_time(), oid from pg_database where datname = current_database()"
    with database.reading() as tx:
        began, number = tx.execute(text(statement)).one()
    return began, number


def find_stored_key_fault(database: Database) -> str | None:
    """Why the secret key is not that of the database; None when it is, or when the database knows none yet."""
    with database.reading() as tx:
        try:
            _read_word(tx)
        except (SecretKeyChanged, SecretDamaged) as error:
            return str(error)
    return None


def _read_word(tx: Transaction) -> str | None:
    return tx.execute(select(secret_key_check.c.word)).scalar_one_or_none()
