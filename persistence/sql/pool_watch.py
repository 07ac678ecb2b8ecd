"""Counts the connections of a pool that are in use."""

from collections.abc import Callable

from sqlalchemy import Pool, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

TAKEN = "is_counted"


def watch_pool(pool: Pool, note: Callable[[int], object]) -> None:
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
