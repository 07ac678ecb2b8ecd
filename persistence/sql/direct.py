"""Sends statements whose text and values are complete. SQLAlchemy's own way for them takes longer than all that the
driver does: it makes a context and a result with the names of its columns, which nobody asks for here.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection


def fetch(connection: Connection, statement: str, parameters: Any) -> Sequence[tuple[Any, ...]]:
    """The rows of a statement as the driver gives them."""
    cursor = _execute(connection, statement, parameters)
    rows: Sequence[tuple[Any, ...]] = cursor.fetchall()
    cursor.close()
    return rows


def change(connection: Connection, statement: str, parameters: Any) -> int:
    """Executes a statement; returns how many rows it changed."""
    cursor = _execute(connection, statement, parameters)
    count: int = cursor.rowcount
    cursor.close()
    return count


def _execute(connection: Connection, statement: str, parameters: Any) -> Any:
    """A cursor that has executed a statement. Whoever listens to the statements of the connection hears of it, and
    errors are SQLAlchemy's.
    """
    cursor = connection.connection.cursor()
    if connection._has_events or connection.engine._has_events:
        for hear in connection.dispatch.before_cursor_execute:
            statement, parameters = hear(connection, cursor, statement, parameters, None, False)
    try:
        cursor.execute(statement, parameters)
    except BaseException as error:
        connection._handle_dbapi_exception(error, statement, parameters, cursor, None)
        raise
    return cursor
