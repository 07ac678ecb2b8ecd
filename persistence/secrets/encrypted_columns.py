"""The column type of secrets: they are encrypted ("sealed") when written and decrypted ("opened") when read."""

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
"""The keys of each engine, by its dialect: a column type knows only the dialect of its engine."""


class NoSecretKey(Exception):
    """A secret is read or written in a database that was opened without a secret key."""


class SealedComparator(TypeDecorator.Comparator[Any]):
    """The same secret is sealed differently each time, so the database can only compare it with null."""

    def operate(self, op: OperatorType, *other: Any, **kwargs: Any) -> Any:
        if op not in (is_, is_not) or other != (None,):
            raise TypeError("sealed columns cannot be compared; read them and compare what they hold")
        return super().operate(op, *other, **kwargs)


class Sealed(TypeDecorator[Any]):
    """A text that is stored encrypted, bound to its table and column (`place`). Reading raises SecretKeyChanged,
    SecretDamaged (`persistence.secrets.encryption`). To copy it to another sealed column it must be read and written.
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
    """A column for a document that contains secrets."""
    return Column(name, SealedJson(f"{table}.{name}"))


def sealed_text(column: ColumnElement[Any]) -> ColumnElement[str]:
    """The sealed text of a column, to be opened row by row: reading the column itself opens all rows or fails."""
    return type_coerce(column, Text)


def open_sealed(dialect: Dialect, column: Column[Any], sealed: str | None) -> Any:
    """The content of one sealed text of a column; None for null. Raises SecretKeyChanged, SecretDamaged."""
    assert isinstance(column.type, Sealed)
    return column.type.process_result_value(sealed, dialect)


def open_or_none(dialect: Dialect, column: Column[Any], sealed: str | None) -> Any:
    """The content of one sealed text of a column; None for null and for a text that no key opens."""
    try:
        return open_sealed(dialect, column, sealed)
    except (SecretDamaged, SecretKeyChanged):
        place = f"{column.table.name}.{column.name}"
        logger.error("a secret in %s cannot be decrypted; renew the secrets or set it anew", place)
        return None


def give_keys(engine: Engine, ring: KeyRing) -> None:
    """Lets an engine read and write sealed columns."""
    _RINGS[engine.dialect] = ring


def _ring_of(dialect: Dialect) -> KeyRing:
    ring = _RINGS.get(dialect)
    if ring is None:
        raise NoSecretKey("this database was opened without a secret key")
    return ring
