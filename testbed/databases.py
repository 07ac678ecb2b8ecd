"""Databases that tests open: statements are compiled once per process, as in a server, and not once per test."""

from typing import Any

from sqlalchemy import Connection, event
from sqlalchemy.engine import Dialect
from sqlalchemy.util import LRUCache

from persistence.database import Database
from testbed.kept_databases import keep_connections
from testbed.tokens import KEYS

_DIALECTS: dict[tuple[str, str], Dialect] = {}
_COMPILED: LRUCache[Any, Any] = LRUCache(2000)


def open_database(url: str, **options: Any) -> Database:
    """A database opened with the keys of tests; options as `Database` takes them."""
    opened = Database(url, keys=KEYS, **options)
    keep_connections(opened.engine, url)
    event.listen(opened.engine, "engine_connect", _share_statements)
    return opened


def _share_statements(connection: Connection) -> None:
    """Compiled statements belong to a dialect, and each engine creates its own dialect; so do the keys of secrets."""
    dialect = connection.dialect
    connection.dialect = _DIALECTS.setdefault((dialect.name, dialect.driver), dialect)
    connection.execution_options(compiled_cache=_COMPILED)
