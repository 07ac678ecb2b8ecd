"""Sends statements whose text and values are complete. SQLAlchemy's own way for them takes longer than all that the
driver does: it makes a context and a result with the names of its columns, which nobody asks for here.
"""

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection

from persistence.sql.together import together_of

Send = Callable[[Any, str, Any], None]
Cursors = Callable[[Any], Any]


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
