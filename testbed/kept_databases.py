"""PostgreSQL databases that tests use one after another: emptied between tests, because creating and dropping one, and
connecting to it anew, takes longer than most tests do.
"""

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg2
from psycopg2.extensions import TRANSACTION_STATUS_IDLE, connection
from psycopg2.sql import SQL, Identifier
from sqlalchemy import Engine, event
from sqlalchemy.engine import make_url

from testbed.servers import postgres_database

MOST_USES = 60
"""Deleted rows stay in the files of a table, and reading goes past them."""
FIRST_OWN = 16384
"""The id of the first object of a PostgreSQL database that the server does not bring itself."""
SHAPE = f"""
    SELECT count(*), max(oid), sum(relchecks + relnatts) FILTER (WHERE relnamespace = 'public'::regnamespace),
        (SELECT count(*) FROM pg_constraint), (SELECT count(*) FROM pg_trigger),
        (SELECT count(*) FROM pg_proc WHERE oid >= {FIRST_OWN}), (SELECT count(*) FROM pg_db_role_setting)
    FROM pg_class
"""
TABLES = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY relname"
SEQUENCES = """
    SELECT relname::text FROM pg_sequence JOIN pg_class ON oid = seqrelid
    WHERE relnamespace = 'public'::regnamespace AND pg_sequence_last_value(seqrelid) IS NOT NULL
"""
OTHERS = """
    SELECT pid FROM pg_stat_get_activity(NULL)
    WHERE datid = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
Row = tuple[Any, ...]


class KeptConnection(connection):  # type: ignore[misc]
    """A connection whose closing puts it aside for the next test of the same database."""

    aside: "Aside | None" = None
    key: tuple[Any, ...] = ()

    def close(self) -> None:
        if self.aside is None or not self.aside.put(self):
            super().close()


class Aside:
    """Connections that tests have closed, by all that they were opened with."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: defaultdict[tuple[Any, ...], list[KeptConnection]] = defaultdict(list)

    def take(self, arguments: list[Any], options: dict[str, Any]) -> KeptConnection:
        key = (*arguments, *sorted(options.items()))
        with self._lock:
            found = self._kept[key].pop() if self._kept[key] else None
        if found is None:
            found = psycopg2.connect(*arguments, **options, connection_factory=KeptConnection)
            found.aside, found.key = self, key
        return found

    def put(self, closed: KeptConnection) -> bool:
        """Whether the connection could be put aside as new."""
        if closed.closed:
            return False
        try:
            closed.rollback()
            closed.autocommit = True
            with closed.cursor() as cursor:
                cursor.execute("RESET ALL; UNLISTEN *; DEALLOCATE ALL; SELECT pg_advisory_unlock_all()")
            closed.reset()
            closed.autocommit = False
        except psycopg2.Error:
            return False
        if closed.info.transaction_status != TRANSACTION_STATUS_IDLE:
            return False
        with self._lock:
            self._kept[closed.key].append(closed)
        return True

    def pids(self) -> set[int]:
        with self._lock:
            return {each.info.backend_pid for kept in self._kept.values() for each in kept}

    def close(self) -> None:
        with self._lock:
            for each in [each for kept in self._kept.values() for each in kept]:
                each.aside = None
                each.close()
            self._kept.clear()


class KeptDatabase:
    """One database: what it is like when nobody has used it, and how it becomes so again."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.aside = Aside()
        self._uses = 0
        plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        self._connection = psycopg2.connect(plain)
        self._connection.autocommit = True
        self._ask("SET session_replication_role = replica")
        for name, asked in (("shape", SHAPE), ("sequences", SEQUENCES), ("others", OTHERS)):
            self._ask(f"PREPARE {name} AS {asked}")
        self._tables = [name for (name,) in self._ask(TABLES)]
        self._asking = f"SELECT {', '.join(f'EXISTS (SELECT FROM {name})' for name in self._tables)}"
        self._ask(f"PREPARE filled AS {self._asking}")
        self._fixed = self._filled()
        self._shape, self._fixed_rows = self._ask("EXECUTE shape"), self._read_fixed()

    def empty(self) -> bool:
        """Deletes what a test has stored; returns False if the database can no longer be used."""
        self._uses += 1
        if self._uses >= MOST_USES or self._is_in_use() or self._ask("EXECUTE shape") != self._shape:
            return False
        changed = [SQL("DELETE FROM {}").format(Identifier(name)) for name in self._filled() - self._fixed]
        changed += [
            SQL("SELECT setval({}::regclass, 1, false)").format(SQL("'{}'").format(Identifier(name)))
            for (name,) in self._ask("EXECUTE sequences")
        ]
        if changed:
            with self._connection.cursor() as cursor:
                cursor.execute(SQL("; ").join(changed))
        return self._read_fixed() == self._fixed_rows

    def close(self) -> None:
        self.aside.close()
        self._connection.close()

    def _is_in_use(self) -> bool:
        return bool({pid for (pid,) in self._ask("EXECUTE others")} - self.aside.pids())

    def _filled(self) -> set[str]:
        """The tables that hold rows."""
        return {name for name, is_filled in zip(self._tables, self._ask("EXECUTE filled")[0], strict=True) if is_filled}

    def _read_fixed(self) -> list[list[Row]]:
        return [self._ask(f"SELECT t::text FROM {name} t ORDER BY 1") for name in sorted(self._fixed)]

    def _ask(self, statement: str) -> list[Row]:
        with self._connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else []


class KeptDatabases:
    """Lends copies of a template; one that came back emptied is lent again."""

    def __init__(self, server_url: str, template: str) -> None:
        self._server_url, self._template = server_url, template
        self._free: list[tuple[KeptDatabase, ExitStack]] = []

    @contextmanager
    def lend(self) -> Iterator[str]:
        """The URL of an empty, migrated database."""
        database, ending = self._free.pop() if self._free else self._create()
        LENT[database.url] = database.aside
        try:
            yield database.url
        finally:
            del LENT[database.url]
            if self._can_empty(database):
                self._free.append((database, ending))
            else:
                ending.close()

    @staticmethod
    def _can_empty(database: KeptDatabase) -> bool:
        try:
            return database.empty()
        except psycopg2.Error:  # a test ended all connections or the server
            return False

    def close(self) -> None:
        for _, ending in self._free:
            ending.close()

    def _create(self) -> tuple[KeptDatabase, ExitStack]:
        with ExitStack() as ending:
            database = KeptDatabase(ending.enter_context(postgres_database(self._server_url, self._template)))
            ending.callback(database.close)
            return database, ending.pop_all()
        raise AssertionError("unreachable")


LENT: dict[str, Aside] = {}
"""The connections put aside of each database that is lent, by its URL."""


def keep_connections(engine: Engine, url: str) -> None:
    """Lets an engine use connections that others have closed, if its database is lent."""
    aside = LENT.get(url)
    if aside is not None:
        event.listen(engine, "do_connect", lambda _dialect, _record, args, options: aside.take(args, options))
