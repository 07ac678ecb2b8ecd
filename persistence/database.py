"""The engine and the unit of work: one transaction per request or job, with wake-ups only after its commit."""

import contextlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple, overload

import orjson
from sqlalchemy import (
    ClauseElement,
    Connection,
    CursorResult,
    Engine,
    Executable,
    Pool,
    Table,
    create_engine,
    event,
    insert,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, DisconnectionError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool, PoolProxiedConnection, QueuePool
from sqlalchemy.sql.selectable import TypedReturnsRows

from persistence.errors import LostRace, lost_a_race
from persistence.hooks import BeforeCommit, Watcher
from persistence.secrets.encrypted_columns import give_keys
from persistence.secrets.encryption import KeyRing
from persistence.sql.columns import NumberedColumns
from persistence.sql.query_functions import register_query_functions
from relayboard.base.private_files import make_file

WRITING = "relayboard_writing"
PATIENT, IMPATIENT = "patient", "impatient"
PRIMARY_CODE = 0xFF
MAX_OVERFLOW = 5
ATTEMPTS = 8
LARGEST_TIMEOUT_MS = 2**31 - 1
IDLE_UNCHECKED_SECONDS = 1.0
TAKEN = "is_counted"
POSTGRES_SESSION = "-c lock_timeout=20s -c timezone=UTC -c jit=off -c random_page_cost=1.1"
PATIENT_SESSION = (
    "-c statement_timeout=0 -c lock_timeout=0 -c idle_in_transaction_session_timeout=0 -c timezone=UTC"
    " -c application_name=relayboard_schema"
)


Result = TypeVar("Result")
Columns = TypeVarTuple("Columns")
Parameters = Mapping[str, Any] | Sequence[Mapping[str, Any]]

Wake = Callable[[frozenset[str]], None]
"""Called after a commit with the jobs (`webhooks`, `sending`, ...) that have new rows; losing a call only costs
seconds."""


_INSERTS: dict[Table[NumberedColumns], Executable] = {}
"""Statements that insert a row, by table: they are not built again for each row."""
Put = TypeVar("Put", bound=BeforeCommit)


class Busy(Exception):
    """Another process or thread is writing, and the caller did not want to wait."""


def utc_now() -> datetime:
    return datetime.now(UTC)


def _no_wake(kinds: frozenset[str]) -> None:
    return None


class Transaction:
    """A unit of work: a connection in one transaction, the time when it began, and the wake-ups after its commit.
    `is_alone` says that each of its statements is a transaction (when reading on PostgreSQL).
    """

    __slots__ = (
        "_before_commit",
        "_kinds",
        "_to_tell",
        "connection",
        "held_workspaces",
        "is_alone",
        "now",
        "read_clock",
        "sqlite",
        "witness",
    )

    def __init__(self, connection: Connection, clock: Callable[[], datetime], *, is_alone: bool = False) -> None:
        self.connection = connection
        self.is_alone = is_alone
        self.read_clock = clock
        self.now = clock()
        self.sqlite = connection.dialect.name == "sqlite"
        self.held_workspaces: set[int] = set()
        self.witness: Watcher | None = None
        self._kinds: set[str] = set()
        self._to_tell: list[Callable[[], object]] = []
        self._before_commit: dict[type[BeforeCommit], BeforeCommit] = {}

    @property
    def dialect(self) -> Dialect:
        return self.connection.dialect

    @overload
    def execute(
        self, statement: TypedReturnsRows[*Columns], parameters: Parameters | None = None
    ) -> CursorResult[*Columns]: ...

    @overload
    def execute(
        self, statement: Executable, parameters: Parameters | None = None
    ) -> CursorResult[*tuple[Any, ...]]: ...

    def execute(self, statement: Executable, parameters: Parameters | None = None) -> CursorResult[*tuple[Any, ...]]:
        if self.witness is not None and statement.is_dml:
            return self.witness.execute(self, statement, parameters)
        return self.connection.execute(statement, parameters)

    def insert(self, table: Table[NumberedColumns], **values: Any) -> int:
        """Insert a row; returns its id."""
        if any(isinstance(value, ClauseElement) for value in values.values()):
            return self.execute(insert(table).values(**values).returning(table.c.id)).scalar_one()
        statement = _INSERTS.get(table)
        if statement is None:
            statement = _INSERTS.setdefault(table, insert(table).returning(table.c.id))
        number: int = self.execute(statement, values).scalar_one()
        return number

    def upsert(self, table: Table) -> sqlite.Insert | postgresql.Insert:
        """An insert statement; its `on_conflict_do_nothing` or `on_conflict_do_update` says what happens to existing
        rows."""
        return upsert(table, is_sqlite=self.sqlite)

    def wake(self, kind: str) -> None:
        """Wake the workers of this job once the transaction is committed."""
        self._kinds.add(kind)

    def after_commit(self, tell: Callable[[], object]) -> None:
        """Call this once the transaction is committed, for counters of the process."""
        self._to_tell.append(tell)

    def tell(self) -> None:
        """Calls what was to be called after the commit."""
        for each in self._to_tell:
            each()

    def before_commit(self, kind: type[Put]) -> Put:
        """The hook of this type in this unit of work, which collects what to do at its end."""
        found = self._before_commit.setdefault(kind, kind())
        assert isinstance(found, kind)
        return found

    def flush(self) -> None:
        """Runs the hooks, before the commit or before their changes are read."""
        for each in sorted(self._before_commit.values(), key=lambda each: each.is_last):
            each.flush(self)

    @property
    def woken(self) -> frozenset[str]:
        return frozenset(self._kinds)


def upsert(table: Table, *, is_sqlite: bool) -> sqlite.Insert | postgresql.Insert:
    """See `Transaction.upsert`."""
    return sqlite.insert(table) if is_sqlite else postgresql.insert(table)


class Database:
    """Access to one database; `reading` and `writing` return units of work. A unit of work rolls back if its block
    raises an exception. On SQLite a writing one takes the write lock at its start, so that it never fails halfway
    because another writer came first.
    """

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 5,
        clock: Callable[[], datetime] = utc_now,
        wake: Wake = _no_wake,
        statement_timeout_seconds: int = 30,
        keys: KeyRing | None = None,
    ) -> None:
        """`keys` decrypt and encrypt its secrets, which cannot be read or written without them."""
        self.url = url
        self.clock = clock
        self.wake = wake
        self.witness: Watcher | None = None
        self._most_connections = pool_size + MAX_OVERFLOW
        self.engine = _create_engine(url, pool_size, statement_timeout_seconds)
        if keys is not None:
            give_keys(self.engine, keys)
        self.sqlite = self.engine.dialect.name == "sqlite"

    @contextlib.contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A unit of work that only reads. On PostgreSQL it has no transaction: under READ COMMITTED a transaction would
        not make its statements agree, and BEGIN and COMMIT would double the round trips of a page.
        """
        with self.engine.connect() as connection:
            if self.sqlite:
                with connection.begin():
                    yield Transaction(connection, self.clock)
                return
            driver: Any = connection.connection.dbapi_connection
            # Set here and not as an isolation level, because SQLAlchemy would send a statement to reset it.
            driver.set_session(autocommit=True)
            try:
                yield Transaction(connection, self.clock, is_alone=True)
            finally:
                if not driver.closed:
                    driver.set_session(autocommit=False)

    @contextlib.contextmanager
    def glancing(self, timeout_seconds: float) -> Iterator[Transaction]:
        """A unit of work that only reads; each of its statements gives up after a timeout (on PostgreSQL)."""
        with self.engine.connect() as connection, connection.begin():
            if not self.sqlite:
                connection.exec_driver_sql(f"SET LOCAL statement_timeout = {round(timeout_seconds * 1000)}")
            yield Transaction(connection, self.clock)

    @contextlib.contextmanager
    def writing(self, *, patient: bool = True) -> Iterator[Transaction]:
        """A unit of work that writes. If it is not patient, it raises Busy while another one holds SQLite's write
        lock."""
        with self.engine.connect() as connection:
            connection = connection.execution_options(**{WRITING: PATIENT if patient else IMPATIENT})
            with connection.begin():
                transaction = Transaction(connection, self.clock)
                transaction.witness = self.witness
                yield transaction
                transaction.flush()
        transaction.tell()
        if transaction.woken:
            self.wake(transaction.woken)

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        """Run `work` in a unit of work; if it loses a race to another transaction, it is run again on the new state."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with self.writing() as tx:
                    return work(tx)
            except (DBAPIError, LostRace) as error:
                if attempt == ATTEMPTS or not lost_a_race(error):
                    raise
        raise AssertionError("unreachable")

    def watch_connections(self, note: Callable[[int], object]) -> int:
        """Call `note` with 1 for each connection that is taken from the pool and with -1 when it is returned;
        returns the pool's size."""
        _watch_pool(self.engine.pool, note)
        return self._most_connections

    def is_reachable(self) -> bool:
        """Run a trivial statement; raises the driver's error if it fails."""
        with self.engine.connect() as connection:
            return bool(connection.execute(text("select 1")).scalar_one() == 1)

    def close(self) -> None:
        self.engine.dispose()


def _create_engine(url: str, pool_size: int, statement_timeout_seconds: int) -> Engine:
    parsed = make_url(url)
    if parsed.drivername == "postgres" or parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg2")
    options: dict[str, Any] = {
        "json_serializer": lambda value: orjson.dumps(value).decode(),
        "json_deserializer": _load_json,
        "pool_use_lifo": True,
        "pool_size": pool_size,
        "max_overflow": MAX_OVERFLOW,
        "pool_timeout": 10,
        "hide_parameters": True,  # errors are logged, but not the values in their messages
    }
    if parsed.get_backend_name() == "sqlite":
        if parsed.database and not parsed.database.startswith((":memory:", "file:")):
            make_file(Path(parsed.database))
        engine = create_engine(
            parsed,
            poolclass=QueuePool,
            connect_args={"check_same_thread": False, "isolation_level": None, "timeout": statement_timeout_seconds},
            **options,
        )
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", partial(_begin_sqlite, busy_timeout_ms=statement_timeout_seconds * 1000))
        return engine
    session = f"-c statement_timeout={statement_timeout_seconds}s {POSTGRES_SESSION}"
    # Statements for many rows are sent together: a round trip costs more than a row.
    options |= {"executemany_mode": "values_plus_batch", "executemany_batch_page_size": 500}
    engine = create_engine(parsed, connect_args={"options": session}, **options)
    event.listen(engine, "checkout", _check_idle_connection)
    event.listen(engine, "checkin", _note_idle)
    return engine


def create_patient_engine(engine: Engine) -> Engine:
    """An engine on the same database whose connections wait without a time limit, for the work of operators. Each
    connection is new. SQLite does not check foreign keys on them, because changing a table there means creating it
    again.
    """
    if engine.dialect.name != "sqlite":
        return create_engine(engine.url, poolclass=NullPool, connect_args={"options": PATIENT_SESSION})
    arguments = {"check_same_thread": False, "isolation_level": None}
    patient = create_engine(engine.url, poolclass=NullPool, connect_args=arguments)
    event.listen(patient, "connect", _prepare_sqlite)
    event.listen(patient, "connect", _leave_foreign_keys)
    event.listen(patient, "begin", partial(_begin_sqlite, busy_timeout_ms=LARGEST_TIMEOUT_MS))
    return patient


def _leave_foreign_keys(connection: sqlite3.Connection, _record: ConnectionPoolEntry) -> None:
    connection.execute("PRAGMA foreign_keys=OFF")
    connection.execute(f"PRAGMA busy_timeout={LARGEST_TIMEOUT_MS}")


def database_name(engine: Engine) -> str:
    """The name of the database on its server, or the name of its file without the folder."""
    return Path(engine.url.database or "").name


def postgres_dsn(url: str) -> str:
    """The URL of a PostgreSQL database for libpq, without the name of a driver."""
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def _note_idle(_connection: DBAPIConnection, record: ConnectionPoolEntry) -> None:
    record.info["idle_since"] = time.monotonic()


def _check_idle_connection(connection: Any, record: ConnectionPoolEntry, _proxy: PoolProxiedConnection) -> None:
    """Check a connection that was idle for a second; checking it each time would cost a round trip."""
    idle_since = record.info.get("idle_since")
    if idle_since is None or time.monotonic() - idle_since < IDLE_UNCHECKED_SECONDS:
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute("select 1")
        connection.rollback()
    except connection.Error as error:
        raise DisconnectionError from error


def _load_json(value: str) -> Any:
    return json.loads(value)


def _prepare_sqlite(connection: sqlite3.Connection, _record: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    pragmas: Iterable[str] = (
        "journal_mode=WAL",
        "synchronous=FULL",  # accepted data survives a power failure, not only the death of a process
        "foreign_keys=ON",
        "cache_size=-64000",
        "temp_store=MEMORY",
        "mmap_size=268435456",
    )
    for pragma in pragmas:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
    register_query_functions(connection)


def _begin_sqlite(connection: Connection, busy_timeout_ms: int) -> None:
    writing = connection.get_execution_options().get(WRITING)
    if writing == IMPATIENT:
        _begin_at_once(connection, busy_timeout_ms)
    else:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing == PATIENT else "BEGIN")


def _begin_at_once(connection: Connection, busy_timeout_ms: int) -> None:
    connection.exec_driver_sql("PRAGMA busy_timeout=0")
    try:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    except OperationalError as error:
        if getattr(error.orig, "sqlite_errorcode", 0) & PRIMARY_CODE == sqlite3.SQLITE_BUSY:
            raise Busy from error
        raise
    finally:
        connection.exec_driver_sql(f"PRAGMA busy_timeout={busy_timeout_ms}")


def _watch_pool(pool: Pool, note: Callable[[int], object]) -> None:
    """Calls `note` with 1 when a connection is taken from the pool, and with -1 when it is returned or dropped."""

    def take(_connection: DBAPIConnection, record: ConnectionPoolEntry, _proxy: PoolProxiedConnection) -> None:
        record.info[TAKEN] = True
        note(1)

    def give_back(_connection: DBAPIConnection | None, record: ConnectionPoolEntry, *_error: object) -> None:
        # A connection that broke in use is dropped, and then perhaps returned as well.
        if record.info.pop(TAKEN, False):
            note(-1)

    event.listen(pool, "checkout", take)
    event.listen(pool, "checkin", give_back)
    event.listen(pool, "invalidate", give_back)
