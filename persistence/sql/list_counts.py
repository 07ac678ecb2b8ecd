"""Counts of long lists, remembered for a while, so that not every page of a million records counts them all."""

from datetime import datetime, timedelta
from threading import Lock
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, Select

from persistence.database import Transaction

LONG_LIST = 10_000
"""Lists up to this long are counted each time, which is quick."""
REMEMBERED_FOR = timedelta(seconds=60)
REMEMBERED_LISTS = 1000

ListKey = tuple[str, str]
_Known = dict[ListKey, tuple[int, datetime]]

_known: WeakKeyDictionary[Engine, _Known] = WeakKeyDictionary()
_lock = Lock()


def count_records(tx: Transaction, counting: Select[int], *, at_least: int) -> int:
    """The result of a counting statement, at most `REMEMBERED_FOR` old when the list is long.

    A remembered number answers only when it exceeds `at_least`; near its end a list is counted again.
    """
    key = _key(tx, counting)
    with _lock:
        count, moment = _known.get(tx.connection.engine, {}).get(key, (0, tx.now))
    if count > at_least and abs(tx.now - moment) < REMEMBERED_FOR:
        return count
    return count_again(tx, counting)


def count_again(tx: Transaction, counting: Select[int]) -> int:
    """Count all records now, and remember the number of a long list."""
    count = tx.execute(counting).scalar_one()
    key = _key(tx, counting)
    with _lock:
        known = _known.setdefault(tx.connection.engine, {})
        known.pop(key, None)
        if count > LONG_LIST:
            known[key] = (count, tx.now)
        if len(known) > REMEMBERED_LISTS:
            del known[next(iter(known))]
    return count


def _key(tx: Transaction, counting: Select[int]) -> ListKey:
    """What a list is known by: its conditions, the workspace's among them, with their values."""
    compiled = counting.compile(dialect=tx.connection.dialect)
    return str(compiled), repr(sorted(compiled.params.items()))
