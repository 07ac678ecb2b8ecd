"""The column type of secrets: sealed whenever they are written, opened whenever they are read."""

import logging
from typing import Any
from weakref import WeakKeyDictionary

import orjson
from sqlalchemy import Column, ColumnElement, Engine, Text, TypeDecorator, type_coerce
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.operators import OperatorType, is_, is_not

from persistence.secrets.encryption import KeyRing, SecretDamaged, SecretKeyChanged

logger = logging.getLogger("relayboard.secrets")

_RINGS: WeakKeyDictionary[Dialect, KeyRing] = WeakKeyDictionary()
"""The keys of each engine; an engine has a dialect of its own, which is all that a column type gets to know of it."""


class NoSecretKey(Exception):
    """A secret is read or written through a database that was opened without a secret key."""


class SealedComparator(TypeDecorator.Comparator[Any]):
    """Sealed texts differ each time, so the database can only tell whether there is one."""

    def operate(self, op: OperatorType, *other: Any, **kwargs: Any) -> Any:
        if op not in (is_, is_not) or other != (None,):
            raise TypeError("sealed columns cannot be compared; read them and compare what they hold")
        return super().operate(op, *other, **kwargs)


class Sealed(TypeDecorator[Any]):
    """A text that is stored encrypted, bound to its table and column (`place`).

    Reading raises SecretKeyChanged, SecretDamaged (`persistence.secrets.encryption`). Copying from one sealed column to
    another needs reading and writing.
    """

    impl = Text
    cache_ok = True
    comparator_factory = SealedComparator

    def __init__(self, place: str) -> None:
        super().__init__()
        self.place = place

    def process_bind_param(self, value: object, dialect: Dialect) -> str | None:
        return None if value is None else _ring_of(dialect).seal(self.to_text(value), self.place)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else self.from_text(_ring_of(dialect).open(value, self.place))

    def to_text(self, value: object) -> str:
        return str(value)

    def from_text(self, text: str) -> Any:
        return text


class SealedJson(Sealed):
    """A sealed document."""

    cache_ok = True

    def to_text(self, value: object) -> str:
        return orjson.dumps(value).decode()

    def from_text(self, text: str) -> Any:
        return orjson.loads(text)


def sealed_column(table: str, name: str) -> Column[str]:
    """A column for a secret text; None when there is none."""
    return Column(name, Sealed(f"{table}.{name}"))


def sealed_json_column(table: str, name: str) -> Column[Any]:
    """A column for a document that holds secrets."""
    return Column(name, SealedJson(f"{table}.{name}"))


def sealed_text(column: ColumnElement[Any]) -> ColumnElement[str]:
    """What a sealed column holds, to be opened row by row: reading the column opens all rows or fails."""
    return type_coerce(column, Text)


def open_or_none(dialect: Dialect, column: Column[Any], sealed: str | None) -> Any:
    """What one sealed text of a column holds; None for none and for one that no key opens."""
    assert isinstance(column.type, Sealed)
    try:
        return column.type.process_result_value(sealed, dialect)
    except (SecretDamaged, SecretKeyChanged):
        logger.error("a secret in %s cannot be decrypted; renew the secrets or set it anew", column.type.place)
        return None


def give_keys(engine: Engine, ring: KeyRing) -> None:
    """Lets an engine read and write sealed columns."""
    _RINGS[engine.dialect] = ring


def _ring_of(dialect: Dialect) -> KeyRing:
    ring = _RINGS.get(dialect)
    if ring is None:
        raise NoSecretKey("this database was opened without a secret key")
    return ring
