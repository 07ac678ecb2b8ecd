"""The exceptions of persistence: one family of rule violations, which handlers turn into responses in one place, and
database errors, for packages that do not import SQLAlchemy."""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

DatabaseError = SQLAlchemyError
"""The errors of the database, its driver and the connection pool."""
DATABASE_AWAY = (OperationalError, PoolTimeout)
"""Errors that mean that the database cannot be reached or used now; nothing is wrong with the statement."""
QUERY_CANCELED = "57014"
SERIALIZATION_CODES = ("40001", "40P01")
FROZEN = "25P03"
"""The server ended a transaction in which nothing had happened for too long, and thus before its commit."""
LOCK_NOT_AVAILABLE = "55P03"


class RuleBroken(Exception):
    """A request violates a rule of the service; nothing was changed."""


class LostRace(Exception):
    """Another unit of work changed what this one had read; `Database.write` runs it again on the new state."""


class InvalidInput(RuleBroken):
    """Values that violate a rule, keyed by field: `{"text": ["..."]}`, `{"urns": {"0": ["..."]}}`."""

    def __init__(self, errors: Mapping[str, Any]) -> None:
        super().__init__("; ".join(_list_sentences(errors)))
        self.errors = dict(errors)

    @classmethod
    def on(cls, field: str, message: str) -> "InvalidInput":
        return cls({field: [message]})

    @classmethod
    def at(cls, field: str, index: int | str, message: str) -> "InvalidInput":
        """A problem with an element of a list or dictionary field."""
        return cls({field: {str(index): [message]}})

    @classmethod
    def across(cls, message: str) -> "InvalidInput":
        """A problem that concerns several fields."""
        return cls({"non_field_errors": [message]})


class NothingFound(InvalidInput):
    """A reference in a field, such as `groups`, that names no record."""

    def __init__(self, field: str, reference: str, index: int | None = None) -> None:
        self.field, self.reference = field, reference[:64]
        message = [f'Nothing found for "{self.reference}".']
        super().__init__({field: message if index is None else {str(index): message}})


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


class Refused(RuleBroken):
    """A request that the current state or its parameters do not allow (400 with a detail)."""


class RecordMissing(RuleBroken):
    """The record to change does not exist in this workspace."""

    def __init__(self, message: str = "No such record.") -> None:
        super().__init__(message)


class SystemRecord(RuleBroken):
    """System objects cannot be changed."""

    def __init__(self, message: str = "System objects cannot be changed.") -> None:
        super().__init__(message)


class NotAllowed(RuleBroken):
    """The role or the scope of the token does not allow the operation."""


class LimitReached(RuleBroken):
    """The workspace has the maximum number of objects of this kind."""

    def __init__(self, message: str = "The workspace has reached its limit for this kind of object.") -> None:
        super().__init__(message)


class Clash(RuleBroken):
    """Two requests conflict: the same idempotency key with another body."""


def lost_a_race(error: DBAPIError | LostRace) -> bool:
    """Whether a unit of work failed only because another one came first."""
    if isinstance(error, LostRace):
        return True
    return isinstance(error, IntegrityError) or getattr(error.orig, "pgcode", None) in (*SERIALIZATION_CODES, FROZEN)


def has_broken(error: DatabaseError) -> bool:
    """Whether the connection broke: if it broke during a commit, it is unknown whether the commit succeeded."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


def took_too_long(error: DatabaseError) -> bool:
    """Whether the database canceled a statement because of its timeout."""
    return isinstance(error, DBAPIError) and getattr(error.orig, "pgcode", None) == QUERY_CANCELED


def is_temporary(error: DatabaseError) -> bool:
    """Whether a later attempt may succeed: the database is not available or overloaded, or other transactions won
    every race."""
    is_lost = isinstance(error, DBAPIError) and lost_a_race(error)
    return is_lost or has_broken(error) or isinstance(error, (*DATABASE_AWAY, InterfaceError))


def reason_of(error: DatabaseError) -> str:
    """The message of the database, without the statement."""
    return str((isinstance(error, DBAPIError) and error.orig) or error)
