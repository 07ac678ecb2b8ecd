"""Engines and their connections, on SQLite and PostgreSQL.

Connections through a pooler that lends a server connection for one transaction (PgBouncer with `pool_mode =
transaction`). It refuses or loses the options of a connection, and what a transaction sets for its session another
client finds or misses. So the settings travel with each transaction, in the message that begins it: they cost no round
trip.
"""

import json
import re
import shlex
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import URL, Connection, Engine, FromClause, Pool, create_engine, event
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.engine import make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DisconnectionError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool, PoolProxiedConnection, QueuePool

from persistence.errors import FILE_GONE, FILE_MISSING, FILE_REPLACED, PRIMARY_CODE, FileFault
from persistence.sql.query_functions import register_query_functions
from relayboard.base.private_files import make_file

WRITING = "relayboard_writing"
PATIENT, IMPATIENT = "patient", "impatient"
MAX_OVERFLOW = 5
LARGEST_TIMEOUT_MS = 2**31 - 1
IDLE_UNCHECKED_SECONDS = 1.0
STEPS_BETWEEN_LOOKS = 10_000
"""After so many steps SQLite asks whether the time of a statement is over: within a millisecond, or a tenth of a second
if they call functions of ours."""
TAKEN = "is_counted"
POSTGRES_SESSION = {
    "lock_timeout": "2s",
    "idle_in_transaction_session_timeout": "3s",
    "timezone": "UTC",
    "jit": "off",
    "random_page_cost": "1.1",
    "plan_cache_mode": "force_generic_plan",
}
"""What is prepared has one plan that is good for all values; otherwise PostgreSQL plans again for each list of ids,
of which it expects ten. A process that is frozen within a transaction loses it, and with it the locks that others
wait for; what our processes do between two statements takes milliseconds (otherwise see `Transaction.may_pause`).
Who waits for a lock gives up before that, and waits anew (`Database.write`): else each transaction of a frozen process
that waits for the same row would get it in turn, and hold it for as long."""
LONGEST_WAIT_SECONDS = 20
"""How long a unit of work waits for locks in all."""
LOST_CLIENT = {
    "tcp_user_timeout": "10s",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "3",
    "tcp_keepalives_count": "3",
}
"""With these the server sees in time that it does not reach a client any more, which may hold locks; the same for
clients. A pooler has such settings of its own."""
LOST_SERVER = {
    "connect_timeout": 10,
    "tcp_user_timeout": 10_000,
    "keepalives_idle": 10,
    "keepalives_interval": 3,
    "keepalives_count": 3,
}
UUID_TYPE = 2950
"""The number of PostgreSQL's type of UUIDs."""
PROGRAM_NAME = "relayboard"
"""Shown as `application_name` by the database, unless the URL names another one."""
PATIENT_SESSION = (
    "-c statement_timeout=0 -c lock_timeout=0 -c idle_in_transaction_session_timeout=0 -c timezone=UTC"
    " -c application_name=relayboard_schema"
)


class KnownFile:
    """The file of a SQLite database, which must stay the one that this process has begun with: SQLite goes on writing
    into a file that was moved away, and connections to a new one would read the log of the former.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()  # the process may change its folder
        self._identity: tuple[int, int] | None = self._look()

    def check_before(self, *_: object) -> None:
        """Raises FileFault instead of making an empty file."""
        found = self._look()
        if found is None:
            raise FileFault(FILE_MISSING if self._identity is None else FILE_GONE, self._path)
        if self._identity is None:
            self._identity = found
        if found != self._identity:
            raise FileFault(FILE_REPLACED, self._path)

    def check(self, *_: object) -> None:
        """The same, as an error of the database, for a connection that is open."""
        try:
            self.check_before()
        except FileFault as error:
            raise OperationalError(None, None, error) from error

    def _look(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino


class TimedConnection(sqlite3.Connection):
    """A connection whose statements give up after a time, as they do on PostgreSQL: a query that compares each contact
    a hundred times would keep all others waiting. What counts is the processor's time of the thread, so that a machine
    that is busy with others ends nothing.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.limit: StatementLimit | None = None

    def cursor(self, *_: Any) -> Any:
        return super().cursor(_TimedCursor)


@dataclass(slots=True)
class StatementLimit:
    """How long the processor may work for a statement, and until when for the present one."""

    seconds: float
    ends_at: float = 0.0

    def begin(self) -> None:
        self.ends_at = time.thread_time() + self.seconds

    def is_over(self) -> bool:
        return time.thread_time() > self.ends_at


class _TimedCursor(sqlite3.Cursor):
    """SQLite works when a statement is executed, and whenever rows are fetched."""

    connection: TimedConnection


def _timed(name: str) -> Callable[..., Any]:
    work = getattr(sqlite3.Cursor, name)

    def timed(self: _TimedCursor, *arguments: Any) -> Any:
        limit = self.connection.limit
        if limit is not None:
            limit.begin()
        return work(self, *arguments)

    return timed


for _name in ("execute", "executemany", "fetchone", "fetchmany", "fetchall"):
    setattr(_TimedCursor, _name, _timed(_name))


def _limit_statements(connection: TimedConnection, _record: ConnectionPoolEntry, seconds: float) -> None:
    connection.limit = StatementLimit(seconds)
    connection.set_progress_handler(connection.limit.is_over, STEPS_BETWEEN_LOOKS)


@contextmanager
def limiting(connection: Connection, seconds: float) -> Iterator[None]:
    """Lets statements of SQLite give up earlier within the block."""
    driver = connection.connection.dbapi_connection
    limit = driver.limit if isinstance(driver, TimedConnection) else None
    if limit is None:
        yield
        return
    usual, limit.seconds = limit.seconds, min(limit.seconds, seconds)
    try:
        yield
    finally:
        limit.seconds = usual


class _HintCompiler(SQLiteCompiler):
    """Writes hints on tables, such as NOT INDEXED, which SQLAlchemy leaves out on SQLite."""

    def get_from_hint_text(self, table: FromClause, text: str | None) -> str | None:
        return text


class Busy(Exception):
    """Another process or thread is writing, and the caller did not want to wait."""


def create_pooled_engine(
    url: str,
    pool_size: int,
    statement_timeout_seconds: float,
    *,
    is_behind_pooler: bool = False,
    makes_file: bool = True,
) -> Engine:
    """The engine of a service or worker: a pool of connections whose statements time out. Behind a pooler by
    transaction (PgBouncer) the settings of its sessions travel with each transaction. Raises ValueError if the URL has
    options that cannot.
    """
    parsed = _with_driver(make_url(url))
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
        if makes_file and parsed.database and not parsed.database.startswith((":memory:", "file:")):
            make_file(Path(parsed.database))
        engine = create_engine(
            parsed,
            poolclass=QueuePool,
            connect_args={
                "check_same_thread": False,
                "isolation_level": None,
                "timeout": statement_timeout_seconds,
                "factory": TimedConnection,
            },
            **options,
        )
        engine.dialect.statement_compiler = _HintCompiler
        event.listen(engine, "connect", partial(_limit_statements, seconds=statement_timeout_seconds))
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", partial(_begin_sqlite, busy_timeout_ms=round(statement_timeout_seconds * 1000)))
        if parsed.database and not parsed.database.startswith((":memory:", "file:")):
            known = KnownFile(Path(parsed.database))
            event.listen(engine, "do_connect", known.check_before)
            event.listen(engine, "checkout", known.check)
        return engine
    own = {"statement_timeout": f"{statement_timeout_seconds}s", **POSTGRES_SESSION}
    # Statements for many rows are sent together: a round trip costs more than a row.
    options |= {"executemany_mode": "values_plus_batch", "executemany_batch_page_size": 500}
    if is_behind_pooler:
        engine = create_transaction_engine(parsed, own, _arguments_of(parsed), **options)
    else:
        arguments = {"options": _as_options(parsed, own | LOST_CLIENT), **_arguments_of(parsed)}
        engine = create_engine(parsed, connect_args=arguments, **options)
    event.listen(engine, "connect", _read_uuids_as_texts)
    event.listen(engine, "checkout", _check_idle_connection)
    event.listen(engine, "checkin", _note_idle)
    return engine


def _arguments_of(url: URL) -> dict[str, Any]:
    """How the driver connects, unless the URL says otherwise."""
    given = {name: value for name, value in LOST_SERVER.items() if name not in url.query}
    return {"fallback_application_name": PROGRAM_NAME, **given}


def load_driver(url: str) -> None:
    """Loads what is needed for a database at this URL; processes that are forked afterwards share it."""
    _with_driver(make_url(url)).get_dialect().import_dbapi()


def _with_driver(url: URL) -> URL:
    return url.set(drivername="postgresql+psycopg2") if url.drivername in ("postgres", "postgresql") else url


def _read_uuids_as_texts(connection: Any, _record: ConnectionPoolEntry) -> None:
    """The driver leaves UUIDs as the texts that the server sends. To make objects of them, and texts of these again,
    takes longer than to read the rest of a small row.
    """
    from psycopg2.extensions import new_type, register_type  # noqa: PLC0415  # SQLite needs no driver

    register_type(new_type((UUID_TYPE,), "UUID", lambda value, _cursor: value), connection)


def _as_options(url: URL, settings: Mapping[str, str]) -> str:
    """The start-up options of a connection: our settings, and then those of its URL."""
    own = " ".join(f"-c {name}={value}" for name, value in settings.items())
    return " ".join([own, *options_of(url)])


def create_patient_engine(engine: Engine, direct_url: str | None = None) -> Engine:
    """An engine on the same database whose connections wait without a time limit, for the work of operators. Each
    connection is new, and has a session of its own: if the engine is behind a pooler, `direct_url` is the address of
    the database itself. SQLite does not check foreign keys on them, because changing a table there means creating it
    again.
    """
    if engine.dialect.name != "sqlite":
        url = engine.url if direct_url is None else _with_driver(make_url(direct_url))
        options = " ".join([*options_of(url), PATIENT_SESSION])
        return create_engine(url, poolclass=NullPool, connect_args={**_arguments_of(url), "options": options})
    arguments = {"check_same_thread": False, "isolation_level": None}
    patient = create_engine(engine.url, poolclass=NullPool, connect_args=arguments)
    if engine.url.database and not engine.url.database.startswith((":memory:", "file:")):
        event.listen(patient, "do_connect", KnownFile(Path(engine.url.database)).check_before)
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


def queue_dsn(url: str) -> str:
    """The URL of a queue in PostgreSQL for the other driver, whose connections give up as those of the database do."""
    parsed = make_url(url).set(drivername="postgresql")
    frozen = "idle_in_transaction_session_timeout"
    own = {"lock_timeout": f"{LONGEST_WAIT_SECONDS}s", frozen: POSTGRES_SESSION[frozen]}
    limits = {"statement_timeout": "30s", **own, **LOST_CLIENT}
    given = {name: str(value) for name, value in LOST_SERVER.items() if name not in parsed.query}
    known = parsed.update_query_dict({**given, "options": _as_options(parsed, limits)})
    place, mark, query = known.render_as_string(hide_password=False).partition("?")
    return place + mark + query.replace("+", "%20")  # libpq takes a plus for a plus


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


def watch_pool(pool: Pool, note: Callable[[int], object]) -> None:
    """Call `note` with 1 when a connection is taken from the pool, and with -1 when it is returned or dropped."""

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


READING = "relayboard_reading"
"""The execution option of a connection whose statements are a transaction each."""
OPTIONS = "options"
UNQUOTED = re.compile(r"[^'\"%\\\\]*")
IDLE = 0
ACTIVE = 1


def options_of(url: URL) -> Sequence[str]:
    """The start-up options in a URL, as libpq takes them (`options=-c search_path=ours`)."""
    given = url.query.get(OPTIONS, ())
    return (given,) if isinstance(given, str) else given


def create_transaction_engine(
    url: URL, settings: Mapping[str, str], arguments: dict[str, Any], **options: Any
) -> Engine:
    """An engine whose transactions set `settings`, and then those in the options of the URL, for themselves. Raises
    ValueError if these are not all settings.
    """
    wanted = {**settings, **_read_settings(options_of(url))}
    statements = "; ".join(f"SET LOCAL {name} = {_quote(value)}" for name, value in wanted.items())
    engine = create_engine(
        url.difference_update_query([OPTIONS]),
        connect_args={**arguments, "connection_factory": _connection_class()},
        **options,
    )
    event.listen(engine, "connect", _leave_transactions_to_us)
    event.listen(engine, "begin", _begin)
    event.listen(engine, "before_cursor_execute", _carrying(statements), retval=True)
    return engine


def _connection_class() -> type:
    """Connections that end the transaction that they were told to begin. The driver would begin one of its own before
    the first statement, in a message without our settings.
    """
    from psycopg2.extensions import connection  # noqa: PLC0415  # SQLite needs no driver

    class TransactionConnection(connection):  # type: ignore[misc]  # psycopg2 has no types
        def commit(self) -> None:
            self._end("COMMIT", super().commit)

        def rollback(self) -> None:
            self._end("ROLLBACK", super().rollback)

        def _end(self, command: str, otherwise: Callable[[], None]) -> None:
            if self.closed or self.info.transaction_status <= ACTIVE:
                otherwise()  # raises if the connection is closed
                return
            with self.cursor() as cursor:
                cursor.execute(command)

    return TransactionConnection


def _leave_transactions_to_us(connection: Any, _record: ConnectionPoolEntry) -> None:
    connection.set_session(autocommit=True)


def _begin(connection: Connection) -> None:
    if not connection.get_execution_options().get(READING):
        connection.exec_driver_sql("BEGIN")


def _carrying(settings: str) -> Callable[..., tuple[str, Any]]:
    """Adds the settings to a message that begins a transaction. Several statements in one message are a transaction, so
    that a statement alone needs no more than them before it.
    """

    def carry(
        _connection: Connection, cursor: Any, statement: str, parameters: Any, _context: object, _is_many: bool
    ) -> tuple[str, Any]:
        if cursor.connection.info.transaction_status != IDLE:
            return statement, parameters
        if statement.startswith("BEGIN"):
            return f"{statement}; {settings}", parameters
        return f"{settings}; {statement}", parameters

    return carry


def _read_settings(options: Sequence[str]) -> dict[str, str]:
    """The settings in start-up options: `-c name=value`, `-cname=value` or `--name=value`."""
    words = [word for each in options for word in shlex.split(each)]
    found: dict[str, str] = {}
    while words:
        word = words.pop(0)
        assignment = words.pop(0) if word == "-c" and words else word.removeprefix("--").removeprefix("-c")
        name, separator, value = assignment.partition("=")
        name = name.replace("-", "_") if word.startswith("--") else name
        if not word.startswith("-") or not separator or not name.replace("_", "").replace(".", "").isalnum():
            raise ValueError(f"the option {word} of a database URL cannot travel through a pooler by transaction")
        found[name] = value
    return found


def _quote(value: str) -> str:
    """A value for SET; a list (`search_path`) is one of literals."""
    if not UNQUOTED.fullmatch(value):
        raise ValueError(f"the value {value} in the options of a database URL cannot travel through a pooler")
    return ", ".join(f"'{item.strip()}'" for item in value.split(","))
