"""Statements of a unit of work that travel together. A message to PostgreSQL and its answer cost both sides more than a
small statement does. So BEGIN goes with the first statement, a statement whose result nobody needs with the next
one, and the last of these with COMMIT.

Sends statements whose text and values are complete. SQLAlchemy's own way for them takes longer than all that the driver
does: it makes a context and a result with the names of its columns, which nobody asks for here.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Connection, Engine

BEGIN = b"BEGIN"
IDLE = 0
"""The status of a connection without a transaction."""
OTHER_WAYS = ("callproc", "copy_expert", "copy_from", "copy_to", "executemany")
"""How a cursor sends something besides `execute`."""

Send = Callable[[Any, str, Any], None]
Cursors = Callable[[Any], Any]


class Together:
    """What waits to be sent, on the connection of one unit of work."""

    def __init__(self, driver: Any, begin: bytes) -> None:
        self._driver = driver
        self._begin = begin
        self._waiting = [begin]

    def add(self, cursor: Any, statement: str, parameters: Any) -> None:
        """The statement is sent with the next one, before it."""
        self._waiting.append(cursor.mogrify(statement, parameters))

    def send(self, cursor: Any, execute: Callable[..., None], statement: Any, parameters: Any) -> None:
        """Executes what waits and the statement, whose result the cursor has."""
        waiting = self._waiting
        if not waiting:
            execute(cursor, statement, parameters)
            return
        message = b";".join([*waiting, cursor.mogrify(statement, parameters)])
        self._waiting = []
        try:
            execute(cursor, message)
        except BaseException:
            if waiting[0] is self._begin and not self.is_begun:
                # The server has not understood the message. What follows must not be outside of a transaction.
                self._waiting = waiting
            raise

    def send_waiting(self) -> None:
        if self._waiting:
            self._say(";")

    def commit(self) -> None:
        if self._waiting == [self._begin]:
            self._waiting = []
        elif self._waiting or self.is_begun:
            self._say("COMMIT")

    def rollback(self) -> None:
        self._waiting = []
        if self._driver.closed:
            self._driver.rollback()  # raises
        elif self.is_begun:
            self._say("ROLLBACK")

    @property
    def is_begun(self) -> bool:
        return not self._driver.closed and self._driver.info.transaction_status != IDLE

    def _say(self, command: str) -> None:
        with self._driver.cursor() as cursor:
            cursor.execute(command)


@contextmanager
def sending_together(connection: Connection, begin: bytes = BEGIN) -> Iterator[None]:
    """The transaction of the block is begun by its first statement; `begin` may set options of it."""
    driver: Any = connection.connection.dbapi_connection
    # The driver would send a BEGIN of its own before the first statement.
    driver.set_session(autocommit=True)
    together = Together(driver, begin)
    driver.cursor_factory = _Cursors(together)
    try:
        yield
    finally:
        if not driver.closed:
            if together.is_begun:  # its commit has failed
                connection.exec_driver_sql("ROLLBACK")
            driver.cursor_factory = None
            driver.set_session(autocommit=False)


def end_together(engine: Engine) -> None:
    """Connections of an engine of PostgreSQL end the transactions that `sending_together` has begun."""
    dialect: Any = engine.dialect
    for name in ("commit", "rollback"):
        setattr(dialect, f"do_{name}", _ending(name, getattr(dialect, f"do_{name}")))


def together_of(driver: Any) -> Together | None:
    """What waits on a connection of a driver, if it has a unit of work whose statements travel together."""
    cursors = getattr(driver, "cursor_factory", None)
    return cursors.together if isinstance(cursors, _Cursors) else None


def _after_waiting(way: Callable[..., Any]) -> Callable[..., Any]:
    def send(self: Any, *arguments: Any, **options: Any) -> Any:
        self.together.send_waiting()
        return way(self, *arguments, **options)

    return send


@dataclass(frozen=True, slots=True)
class _Cursors:
    """Makes the cursors of a unit of work."""

    together: Together

    def __call__(self, driver: Any, name: str | None = None) -> Any:
        cursor = _cursor_class()(driver, name)
        cursor.together = self.together
        return cursor


def fetch(
    connection: Connection, statement: str, parameters: Any, cursors: Cursors | None = None
) -> Sequence[tuple[Any, ...]]:
    """The rows of a statement as the driver gives them, or as the cursor does that `cursors` makes."""
    cursor = _execute(connection, statement, parameters, cursors=cursors)
    rows: Sequence[tuple[Any, ...]] = cursor.fetchall()
    cursor.close()
    return rows


def change(connection: Connection, statement: str, parameters: Any) -> int:
    """Executes a statement; returns how many rows it changed."""
    cursor = _execute(connection, statement, parameters)
    count: int = cursor.rowcount
    cursor.close()
    return count


def send_later(connection: Connection, statement: str, parameters: Any) -> None:
    """Executes a statement with the next one of its unit of work, or with its end; at once where nothing is sent
    together. Its errors are those of what it is sent with.
    """
    together = together_of(connection.connection.dbapi_connection)
    _execute(connection, statement, parameters, send=None if together is None else together.add).close()


def _ending(name: str, otherwise: Callable[[Any], None]) -> Callable[[Any], None]:
    def end(connection: Any) -> None:
        together = together_of(connection.dbapi_connection)
        if together is None:
            otherwise(connection)
        else:
            getattr(together, name)()

    return end


@cache
def _cursor_class() -> type:
    from psycopg2.extensions import cursor  # noqa: PLC0415  # SQLite needs no driver

    class Cursor(cursor):  # type: ignore[misc]  # psycopg2 has no types
        together: Together

        def execute(self, query: Any, vars: Any = None) -> None:
            self.together.send(self, cursor.execute, query, vars)

    for way in OTHER_WAYS:
        setattr(Cursor, way, _after_waiting(getattr(cursor, way)))
    return Cursor


def _execute(
    connection: Connection, statement: str, parameters: Any, *, cursors: Cursors | None = None, send: Send | None = None
) -> Any:
    """A cursor that has executed a statement, or that has got it to `send`. Whoever listens to the statements of the
    connection hears of it, and errors are SQLAlchemy's.
    """
    cursor = connection.connection.cursor() if cursors is None else _special_cursor(connection, cursors)
    is_heard = connection._has_events or connection.engine._has_events
    if is_heard:
        for hear in connection.dispatch.before_cursor_execute:
            statement, parameters = hear(connection, cursor, statement, parameters, None, False)
    try:
        if send is None:
            cursor.execute(statement, parameters)
        else:
            send(cursor, statement, parameters)
    except BaseException as error:
        connection._handle_dbapi_exception(error, statement, parameters, cursor, None)
        raise
    if is_heard:
        for hear in connection.dispatch.after_cursor_execute:
            hear(connection, cursor, statement, parameters, None, False)
    return cursor


def _special_cursor(connection: Connection, cursors: Cursors) -> Any:
    driver = connection.connection.dbapi_connection
    together = together_of(driver)
    if together is not None:
        together.send_waiting()
    return cursors(driver)
