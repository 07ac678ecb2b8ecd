"""Connections through a pooler that lends a server connection for one transaction (PgBouncer with `pool_mode =
transaction`). It refuses or loses the options of a connection, and what a transaction sets for its session another
client finds or misses. So the settings travel with each transaction, in the message that begins it: they cost no round
trip.
"""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.pool import ConnectionPoolEntry

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
