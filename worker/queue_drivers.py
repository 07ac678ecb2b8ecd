"""Huey, and the drivers of the databases that a queue can be in: each is loaded only for a queue that needs it.

Huey itself loads the clients of Redis and PostgreSQL when they are installed, which takes longer than all else that
it does, in every process and every command that wakes workers.
"""

import sqlite3

from relayboard.base.optional_packages import passing_over

with passing_over("redis", "psycopg"):
    from huey import Huey, PostgresHuey, RedisHuey, SqliteHuey, storage
    from huey.constants import EmptyData
    from huey.consumer import Consumer, Scheduler
    from huey.exceptions import ConfigurationError
    from huey.registry import Message
    from huey.serializer import Serializer
    from huey.storage import PostgresStorage, RedisStorage

__all__ = [
    "Consumer",
    "EmptyData",
    "Huey",
    "Message",
    "PostgresHuey",
    "PostgresStorage",
    "RedisHuey",
    "Scheduler",
    "Serializer",
    "SqliteHuey",
    "failures",
    "load_postgresql",
    "load_redis",
]

_failures: list[type[Exception]] = [ConfigurationError, OSError, ValueError, sqlite3.Error]


def failures() -> tuple[type[Exception], ...]:
    """The exceptions of Huey and of the drivers that are loaded when a queue cannot be used."""
    return tuple(_failures)


def load_redis() -> None:
    """Gives Huey the client of Redis. Raises ImportError."""
    import redis  # noqa: PLC0415  # see above
    from redis import exceptions  # noqa: PLC0415

    storage.Redis, storage.ConnectionPool = redis.Redis, redis.ConnectionPool
    storage.ConnectionError, storage.TimeoutError = exceptions.ConnectionError, exceptions.TimeoutError
    RedisStorage.redis_client = redis.Redis
    _note(exceptions.RedisError)


def load_postgresql() -> None:
    """Gives Huey the driver of PostgreSQL. Raises ImportError."""
    import psycopg  # noqa: PLC0415  # see above

    storage.psycopg = psycopg
    _note(psycopg.Error)


def _note(failure: type[Exception]) -> None:
    if failure not in _failures:
        _failures.append(failure)
