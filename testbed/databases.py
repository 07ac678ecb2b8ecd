"""Databases that tests open: statements are compiled once per process, as in a server, and not once per test."""

import fcntl
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.engine import Dialect, make_url
from sqlalchemy.util import LRUCache

from persistence.database import Database
from persistence.migrations import upgrade
from testbed.kept_databases import keep_connections
from testbed.servers import create_database, keep_server
from testbed.tokens import KEYS

SHARED: Path | None = None
"""Where processes that test together keep a migrated file of SQLite, if they do; PostgreSQL's files are beside it."""
TEMPLATE = "migrated"
_DIALECTS: dict[tuple[str, str], Dialect] = {}
_COMPILED: LRUCache[Any, Any] = LRUCache(6000)


def open_database(url: str, *, pooler: str | None = None, **options: Any) -> Database:
    """A database opened with the keys of tests, through the pooler at another URL if one is given; options as
    `Database` takes them.
    """
    if pooler is None:
        opened = Database(url, keys=KEYS, **options)
        keep_connections(opened.engine, url)
    else:
        pooled = make_url(pooler).set(database=make_url(url).database).render_as_string(hide_password=False)
        opened = Database(pooled, keys=KEYS, is_behind_pooler=True, direct_url=url, **options)
    event.listen(opened.engine, "engine_connect", _share_statements)
    return opened


def _share_statements(connection: Connection) -> None:
    """Compiled statements belong to a dialect, and each engine creates its own dialect; so do the keys of secrets."""
    dialect = connection.dialect
    connection.dialect = _DIALECTS.setdefault((dialect.name, dialect.driver), dialect)
    connection.execution_options(compiled_cache=_COMPILED)


def migrate(url: str) -> None:
    """Give a database the newest schema. A file of SQLite that does not exist becomes a copy of one that is migrated
    once in this process, because migrating takes longer than starting a service.
    """
    path = Path(make_url(url).database or "")
    if url.startswith("sqlite") and not path.exists():
        path.touch(0o600)  # as the service makes it
        path.write_bytes(migrated_file())
        return
    database = open_database(url)
    upgrade(database.engine)
    database.close()


@cache
def migrated_file() -> bytes:
    """A migrated file of SQLite. The first process of a test run that needs it makes it, the others read it."""
    if SHARED is None:
        return _make_file()
    with SHARED.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not SHARED.exists():
            made = SHARED.with_suffix(".made")
            made.write_bytes(_make_file())
            made.rename(SHARED)
        return SHARED.read_bytes()


@cache
def migrated_server() -> Path | None:
    """The files of a PostgreSQL server with the migrated database TEMPLATE, which the first process of a test run that
    needs it makes: a new server and its migration take as long as some hundred tests. None where no processes share.
    """
    if SHARED is None or os.environ.get("TEST_POSTGRES_URL"):
        return None
    place = SHARED.with_suffix(".postgres")
    with place.with_suffix(".postgres-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            keep_server(place, _make_template)
    return place


def _make_template(server_url: str) -> None:
    create_database(server_url, TEMPLATE)
    engine = create_engine(make_url(server_url).set(database=TEMPLATE))
    upgrade(engine)
    engine.dispose()


def _make_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "migrated.db"
        database = open_database(f"sqlite:///{path}")
        upgrade(database.engine)
        database.close()
        return path.read_bytes()
