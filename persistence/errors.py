"""The exceptions of persistence: one family of rule violations, which handlers turn into responses in one place, and
database errors, for packages that do not import SQLAlchemy.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

DatabaseError = SQLAlchemyError
"""The errors of the database, its driver and the connection pool."""
_AWAY = (OperationalError, PoolTimeout)
QUERY_CANCELED = "57014"
SERIALIZATION_CODES = ("40001", "40P01")
FROZEN = "25P03"
"""The server ended a transaction in which nothing had happened for too long, and thus before its commit."""
UNKNOWN_NAMES = ("42P01", "42703")
LOCK_NOT_AVAILABLE = "55P03"
PRIMARY_CODE = 0xFF
"""The bits of an error of SQLite that name its kind; the others say more."""
TOO_MANY = ("too many clients", "too many connections", "remaining connection slots", "no more connections allowed")
"""What PostgreSQL and PgBouncer say to who connects, without a code that the driver passes on."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A state of the database that lasts until somebody mends it. The sentence may be told to everybody, the remedy is
    for operators.
    """

    sentence: str
    remedy: str


READ_ONLY = Fault(
    "the database is read-only at present: nothing can be stored, lists can be read",
    "let it write again (after a failover, RELAYBOARD_DATABASE_URL must lead to the server that writes; otherwise look "
    "at default_transaction_read_only, or at the mount and the permissions of the file)",
)
DISK_FULL = Fault("the disk of the database is full", "delete what is not needed, or give it a larger disk")
NO_CONNECTIONS = Fault(
    "the database has no connections left",
    "raise max_connections of PostgreSQL, run fewer processes, or put a pooler before it (docs/scaling.md)",
)
DAMAGED = Fault(
    "the database is damaged, or is no database",
    "stop the service, keep a copy of what is there, and restore the last backup (docs/backup.md)",
)
FILE_GONE = Fault(
    "the file of the database is not there: it was moved away or deleted",
    "put {path} back; nothing is stored until then",
)
FILE_MISSING = Fault(
    "the file of the database is not there",
    "RELAYBOARD_DATABASE_URL names {path}; correct it, or run `relayboard migrate`, which makes a new database there",
)
FILE_REPLACED = Fault(
    "the file of the database was replaced by another one while the service runs",
    "stop the service, remove the files ending in -wal and -shm that do not belong to the new {path}, and start it "
    "again; or put the former file back",
)
FILE_CLOSED = Fault(
    "the database cannot be opened: its folder is read-only, or not open to the user of the service",
    "let that user write the file and its folder, where SQLite keeps a log beside it; look at the mount too",
)
DISK_FAILS = Fault(
    "the disk of the database reports errors",
    "look into the log of the system; keep a copy of the file, and give it another disk if the errors stay",
)
SQLITE_FAULTS = {
    sqlite3.SQLITE_READONLY: READ_ONLY,
    sqlite3.SQLITE_FULL: DISK_FULL,
    sqlite3.SQLITE_CANTOPEN: FILE_CLOSED,
    sqlite3.SQLITE_IOERR: DISK_FAILS,
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_NOTADB: DAMAGED,
}
POSTGRES_FAULTS = {"25006": READ_ONLY, "53100": DISK_FULL, "53300": NO_CONNECTIONS, "XX001": DAMAGED, "XX002": DAMAGED}


class RuleBroken(Exception):
    """A request violates a rule of the service; nothing was changed. `code` is the rule in a word for programs, where
    it is more special than the status; openapi/shared/schemas.yaml lists all.
    """

    code = ""


class FileFault(sqlite3.OperationalError):
    """The file of a database is not the one with which this process began. The remedy, which only operators read, names
    it.
    """

    def __init__(self, fault: Fault, path: Path) -> None:
        super().__init__(fault.sentence)
        self.fault = replace(fault, remedy=fault.remedy.format(path=path))


class LostRace(Exception):
    """Another unit of work changed what this one had read; `Database.write` runs it again on the new state."""


def _list_sentences(errors: object, place: str = "") -> Iterator[str]:
    """Each message of a tree of errors with its place, like `urns.0: No address.`."""
    if isinstance(errors, Mapping):
        for key, inner in errors.items():
            name = "" if key == "non_field_errors" else str(key)
            yield from _list_sentences(inner, ".".join(part for part in (place, name) if part))
    elif isinstance(errors, (list, tuple)):
        for inner in errors:
            yield from _list_sentences(inner, place)
    else:
        yield f"{place}: {errors}" if place else str(errors)


class InvalidInput(RuleBroken):
    """Values that violate a rule, keyed by field: `{"text": ["..."]}`, `{"urns": {"0": ["..."]}}`."""

    def __init__(self, errors: Mapping[str, Any], code: str = "") -> None:
        super().__init__("; ".join(_list_sentences(errors)))
        self.errors = dict(errors)
        self.code = code

    @classmethod
    def on(cls, field: str, message: str, code: str = "") -> "InvalidInput":
        return cls({field: [message]}, code)

    @classmethod
    def at(cls, field: str, index: int | str, message: str) -> "InvalidInput":
        """A problem with an element of a list or dictionary field."""
        return cls({field: {str(index): [message]}})

    @classmethod
    def across(cls, message: str) -> "InvalidInput":
        """A problem that concerns several fields."""
        return cls({"non_field_errors": [message]})


def nothing_found(reference: str) -> str:
    """What is said of a reference that names no record."""
    return f'Nothing found for "{reference[:64]}".'


class NothingFound(InvalidInput):
    """A reference in a field, such as `groups`, that names no record."""

    def __init__(self, field: str, reference: str, index: int | None = None) -> None:
        self.field, self.reference = field, reference[:64]
        message = [nothing_found(reference)]
        super().__init__({field: message if index is None else {str(index): message}}, "unknown_reference")


class Refused(RuleBroken):
    """A request that the current state or its parameters do not allow (400 with a detail)."""


class InUse(Refused):
    """A record cannot be deleted or archived because others, which the message names, use it."""

    code = "in_use"


class RecordMissing(RuleBroken):
    """The record to change does not exist in this workspace."""

    code = "not_found"

    def __init__(self, message: str = "No such record.") -> None:
        super().__init__(message)


class SystemRecord(RuleBroken):
    """System objects cannot be changed."""

    code = "system_record"

    def __init__(self, message: str = "System objects cannot be changed.") -> None:
        super().__init__(message)


class NotAllowed(RuleBroken):
    """The role or the scope of the token does not allow the operation."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class LimitReached(RuleBroken):
    """The workspace has the maximum number of objects of this kind."""

    code = "limit_reached"

    @classmethod
    def of(cls, limit: int, kind: str, remedy: str = "delete those that are not needed") -> "LimitReached":
        """How many of what there may be, and what to do."""
        return cls(f"The workspace has reached its limit of {limit} {kind}: {remedy}.")


class Clash(RuleBroken):
    """Two requests conflict: the same idempotency key with another body."""

    code = "key_reused"


class ChangedSince(RuleBroken):
    """The record is not in the state in which the client knows it."""

    code = "changed_since"


def translated(connection: Connection, error: BaseException, statement: str, parameters: Any) -> BaseException:
    """The exception of SQLAlchemy for an error of the driver of a connection. If that has ended, it is no longer used,
    and others of its time are not either.
    """
    dialect = connection.dialect
    kind = dialect.loaded_dbapi.Error
    is_lost = isinstance(error, kind) and dialect.is_disconnect(error, connection.connection.dbapi_connection, None)
    if is_lost:
        with suppress(DBAPIError):
            connection.exec_driver_sql("SELECT 1")  # SQLAlchemy finds that it has ended
    if (is_lost or not isinstance(error, Exception)) and not connection.invalidated:
        connection.invalidate(error)
    hides = connection.engine.hide_parameters
    return DBAPIError.instance(
        statement, parameters, error, kind, hides, connection_invalidated=is_lost, dialect=dialect
    )


def lost_a_race(error: DBAPIError | LostRace) -> bool:
    """Whether a unit of work failed only because another one came first."""
    if isinstance(error, LostRace):
        return True
    return isinstance(error, IntegrityError) or getattr(error.orig, "pgcode", None) in (*SERIALIZATION_CODES, FROZEN)


def waited_too_long(error: DBAPIError | LostRace) -> bool:
    """Whether a unit of work gave up because others held what it wanted to lock."""
    return isinstance(error, DBAPIError) and getattr(error.orig, "pgcode", None) == LOCK_NOT_AVAILABLE


def has_broken(error: DatabaseError) -> bool:
    """Whether the connection broke: if it broke during a commit, it is unknown whether the commit succeeded."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


def took_too_long(error: DatabaseError) -> bool:
    """Whether the database canceled a statement because of its timeout."""
    if not isinstance(error, DBAPIError):
        return False
    if getattr(error.orig, "pgcode", None) == QUERY_CANCELED:
        return True
    return getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT


def is_temporary(error: DatabaseError) -> bool:
    """Whether a later attempt may succeed: the database is not available, read-only or overloaded, or other
    transactions won every race."""
    return (isinstance(error, DBAPIError) and lost_a_race(error)) or is_away(error)


def is_away(error: DatabaseError) -> bool:
    """Whether the database cannot be reached or used now; nothing is wrong with what it was asked."""
    if isinstance(error, (*_AWAY, InterfaceError)) or has_broken(error) or fault_of(error) is not None:
        return True
    return isinstance(error, DBAPIError) and getattr(error.orig, "pgcode", None) == FROZEN


def fault_of(error: BaseException) -> Fault | None:
    """The lasting state of the database that an error of it shows; None for other errors."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, FileFault):
        return cause.fault
    code = getattr(cause, "sqlite_errorcode", None)
    if code is not None:
        return SQLITE_FAULTS.get(code & PRIMARY_CODE)
    known = POSTGRES_FAULTS.get(getattr(cause, "pgcode", None) or "")
    if known is None and isinstance(error, OperationalError) and any(each in str(cause) for each in TOO_MANY):
        return NO_CONNECTIONS
    return known


def names_unknown(error: DatabaseError) -> bool:
    """Whether PostgreSQL does not know a table or column that a statement names."""
    return isinstance(error, DBAPIError) and getattr(error.orig, "pgcode", None) in UNKNOWN_NAMES


def reason_of(error: DatabaseError) -> str:
    """The message of the database, without the statement."""
    return str((isinstance(error, DBAPIError) and error.orig) or error)


class BackupError(Exception):
    """A backup cannot be made, read or restored, or a copy not made; the message says why and what to do."""
