"""The engine and the unit of work: one transaction per request or job, with what is hung into it, and wake-ups only
after its commit.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, TypeVarTuple, overload

from sqlalchemy import (
    ClauseElement,
    Column,
    ColumnElement,
    Connection,
    CursorResult,
    Executable,
    Table,
    and_,
    delete,
    insert,
    select,
    text,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Dialect, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.selectable import TypedReturnsRows

from persistence.errors import Fault, LostRace, fault_of, has_broken, lost_a_race, waited_too_long
from persistence.secrets.encryption import KeyRing, give_keys
from persistence.sql.columns import NumberedColumns
from persistence.sql.engines import (
    IMPATIENT,
    LONGEST_WAIT_SECONDS,
    MAX_OVERFLOW,
    PATIENT,
    READING,
    WRITING,
    create_patient_engine,
    create_pooled_engine,
    limiting,
    watch_pool,
)
from relayboard.base.settings import Settings

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

ATTEMPTS = 8
LONG_WAIT = f"SET LOCAL lock_timeout = '{LONGEST_WAIT_SECONDS}s'"
"""For a unit of work that is not run again if it had to wait for a lock."""

Result = TypeVar("Result")
Columns = TypeVarTuple("Columns")
Parameters = Mapping[str, Any] | Sequence[Mapping[str, Any]]

Wake = Callable[[frozenset[str]], None]
"""Called after a commit with the jobs (`webhooks`, `sending`, ...) that have new rows; losing a call only costs
seconds."""


class BeforeCommit(Protocol):
    """What a unit of work does last, so that rows for which many transactions wait are locked only briefly."""

    def flush(self, tx: "Transaction") -> None:
        """Runs the hook just before the commit; it may be called again, with new work or without any."""
        ...


Put = TypeVar("Put", bound=BeforeCommit)


def utc_now() -> datetime:
    return datetime.now(UTC)


class Transaction:
    """A unit of work: a connection in one transaction, the time when it began, and the wake-ups after its commit.
    `is_alone` says that each of its statements is a transaction (when reading on PostgreSQL); `can_prepare` that its
    connection finds again what it has prepared.
    """

    __slots__ = (
        "_before_commit",
        "_kinds",
        "_to_tell",
        "can_prepare",
        "connection",
        "held_workspaces",
        "is_alone",
        "now",
        "read_clock",
        "sqlite",
        "witness",
    )

    def __init__(
        self,
        connection: Connection,
        clock: Callable[[], datetime],
        *,
        is_alone: bool = False,
        can_prepare: bool = False,
    ) -> None:
        self.connection = connection
        self.is_alone = is_alone
        self.can_prepare = can_prepare
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
        from persistence.lists import insert_row  # noqa: PLC0415  # it is built on this module

        if any(isinstance(value, ClauseElement) for value in values.values()):
            return self.execute(insert(table).values(**values).returning(table.c.id)).scalar_one()
        return insert_row(self, table, values)

    def upsert(self, table: Table) -> "sqlite.Insert | postgresql.Insert":
        """An insert statement; its `on_conflict_do_nothing` or `on_conflict_do_update` says what happens to existing
        rows."""
        return upsert(table, is_sqlite=self.sqlite)

    def may_pause(self) -> None:
        """The process computes for seconds between statements, for example texts with expressions for many contacts."""
        if not (self.sqlite or self.is_alone):
            self.connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = '60s'")

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
        found = self._before_commit.get(kind)
        if found is None:
            found = self._before_commit[kind] = kind()
        assert isinstance(found, kind)
        return found

    def flush(self) -> None:
        """Runs the hooks, before the commit or before their changes are read."""
        for each in self._before_commit.values():
            each.flush(self)

    @property
    def woken(self) -> frozenset[str]:
        return frozenset(self._kinds)


def upsert(table: Table, *, is_sqlite: bool) -> "sqlite.Insert | postgresql.Insert":
    """See `Transaction.upsert`."""
    if is_sqlite:
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415  # it loads every driver of PostgreSQL

    return postgresql.insert(table)


def delete_old(tx: "Transaction", moment: Column[Any], age: timedelta, limit: int, *extra: ColumnElement[bool]) -> int:
    """Deletes some rows whose `moment` is longer ago than `age` and that meet the extra conditions, oldest first;
    returns their number.
    """
    table = moment.table
    is_old = and_(moment < tx.now - age, *extra)
    old = select(table.c.id).where(is_old).order_by(moment, table.c.id).limit(limit)
    return tx.execute(delete(table).where(table.c.id.in_(old.scalar_subquery()))).rowcount


class Watcher(Protocol):
    """Executes the statements of a unit of work that change rows, and notes who changes what."""

    def execute(
        self, tx: "Transaction", statement: Any, parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None
    ) -> CursorResult[*tuple[Any, ...]]: ...

    def note_created(self, tx: "Transaction", table: Table, row: Mapping[str, Any]) -> None: ...

    def note_deed(
        self,
        tx: "Transaction",
        workspace_id: int,
        resource: str,
        action: str,
        uuid: str | None,
        name: str,
        changes: Any,
    ) -> None: ...


def _no_wake(kinds: frozenset[str]) -> None:
    return None


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
        statement_timeout_seconds: float = 30,
        keys: KeyRing | None = None,
        is_behind_pooler: bool = False,
        direct_url: str | None = None,
        makes_file: bool = True,
    ) -> None:
        """`keys` decrypt and encrypt its secrets, which cannot be read or written without them. `is_behind_pooler` says
        that the URL leads to a pooler by transaction, and `direct_url` leads to the database itself then. A file of
        SQLite that is not there is made if `makes_file`: who serves from it waits for it instead.
        """
        self.url = url
        self.clock = clock
        self.wake = wake
        self.witness: Watcher | None = None
        self.fault: Fault | None = None
        """Why nothing can be written, as the last unit of work that wrote has found; `failed_at` says when."""
        self.failed_at = 0.0
        self._most_connections = pool_size + MAX_OVERFLOW
        self.is_behind_pooler = is_behind_pooler
        self._direct_url = direct_url
        self.engine = create_pooled_engine(
            url, pool_size, statement_timeout_seconds, is_behind_pooler=is_behind_pooler, makes_file=makes_file
        )
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
            if self.is_behind_pooler:
                connection = connection.execution_options(**{READING: True})
                yield Transaction(connection, self.clock, is_alone=True)
                return
            driver: Any = connection.connection.dbapi_connection
            # Set here and not as an isolation level, because SQLAlchemy would send a statement to reset it.
            driver.set_session(autocommit=True)
            try:
                yield Transaction(connection, self.clock, is_alone=True, can_prepare=True)
            finally:
                if not driver.closed:
                    driver.set_session(autocommit=False)

    @contextlib.contextmanager
    def reading_snapshot(self, timeout_seconds: float) -> Iterator[Transaction]:
        """A unit of work that only reads what is of one moment; each of its statements gives up after a timeout."""
        with self.engine.connect() as connection, connection.begin(), limiting(connection, timeout_seconds):
            if not self.sqlite:
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                connection.exec_driver_sql(f"SET LOCAL statement_timeout = {round(timeout_seconds * 1000)}")
            yield Transaction(connection, self.clock)

    @contextlib.contextmanager
    def writing(self, *, patient: bool = True, is_repeated: bool = False) -> Iterator[Transaction]:
        """A unit of work that writes. If it is not patient, it raises Busy while another one holds SQLite's write
        lock. `is_repeated` says that it is run again if it had to wait for a lock: then it gives up early.
        """
        try:
            with self.engine.connect() as connection:
                if self.sqlite:
                    connection = connection.execution_options(**{WRITING: PATIENT if patient else IMPATIENT})
                can_prepare = not (self.sqlite or self.is_behind_pooler)
                with connection.begin():
                    transaction = Transaction(connection, self.clock, can_prepare=can_prepare)
                    transaction.witness = self.witness
                    if not (self.sqlite or is_repeated):
                        connection.exec_driver_sql(LONG_WAIT)
                    yield transaction
                    transaction.flush()
        except DBAPIError as error:
            self.fault, self.failed_at = fault_of(error), time.monotonic()
            raise
        self.fault = None
        transaction.tell()
        if transaction.woken:
            self.wake(transaction.woken)

    def write(self, work: Callable[[Transaction], Result], *, may_repeat: bool = False) -> Result:
        """Run `work` in a unit of work; if it loses a race to another transaction, it is run again on the new state. So
        it is if its connection breaks before its end, for example because the server ended the transaction of a process
        that was frozen: nothing of it is stored. If it breaks at the commit nobody knows; then only work that
        `may_repeat`, because to do it twice is to do it once, is run again.
        """
        ends = time.monotonic() + LONGEST_WAIT_SECONDS
        races = 0
        while True:
            is_ending = False
            try:
                with self.writing(is_repeated=True) as tx:
                    result = work(tx)
                    is_ending = True
                    return result
            except (DBAPIError, LostRace) as error:
                if waited_too_long(error):
                    if time.monotonic() >= ends:
                        raise
                    continue
                races += 1
                is_undone = (may_repeat or not is_ending) and isinstance(error, DBAPIError) and has_broken(error)
                if races == ATTEMPTS or not (is_undone or lost_a_race(error)):
                    raise

    def watch_connections(self, note: Callable[[int], object]) -> int:
        """Call `note` with 1 for each connection that is taken from the pool and with -1 when it is returned;
        returns the pool's size."""
        watch_pool(self.engine.pool, note)
        return self._most_connections

    def create_patient_engine(self) -> Engine:
        """For work that needs a session of its own, and has no time limit."""
        return create_patient_engine(self.engine, self._direct_url)

    def is_reachable(self) -> bool:
        """Run a trivial statement; raises the driver's error if it fails."""
        with self.engine.connect() as connection:
            return bool(connection.execute(text("select 1")).scalar_one() == 1)

    def close(self) -> None:
        self.engine.dispose()


def open_serving_database(settings: Settings, pool_size: int) -> Database:
    """Leads through the pooler if there is one. Commands and migrations need sessions of their own, and do not; neither
    does what a worker does on a patient engine.
    """
    url = settings.database_pooled_url or settings.database_url
    is_pooled = bool(settings.database_pooled_url)
    return Database(
        url,
        pool_size=pool_size,
        keys=KeyRing.of(settings),
        is_behind_pooler=is_pooled,
        direct_url=settings.database_url,
        makes_file=False,
    )
