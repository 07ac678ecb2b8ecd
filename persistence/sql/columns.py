"""Column types that mean the same on SQLite and PostgreSQL, and the columns most tables have."""

import uuid as uuid_module
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from types import NoneType
from typing import Any, TypeVar, cast, get_args

from sqlalchemy import (
    JSON,
    UUID,
    BigInteger,
    Column,
    ColumnElement,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Named,
    String,
    Table,
    Text,
    TypedColumns,
    TypeDecorator,
    UniqueConstraint,
    text,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import SchemaItem
from sqlalchemy.sql.operators import OperatorType
from sqlalchemy.types import TypeEngine

from flows.environment import SYSTEM_CLOCK

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
metadata = MetaData(naming_convention=NAMING)

TIME_LAYOUT = "%Y-%m-%dT%H:%M:%S.%fZ"


def time_text(moment: datetime) -> str:
    """A time as the API writes it: `2026-03-02T08:10:10.123000Z`."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z"


def columns_for(kind: type, table: Table) -> list[Column[Any]]:
    """The columns with the names of a record's fields, so that rows are read as `kind(*row)`."""
    return [table.c[name] for name in kind.__annotations__]


class UtcDateTime(TypeDecorator[datetime]):
    """An aware datetime in UTC with microseconds: timestamptz on PostgreSQL, the API's text form on SQLite."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "sqlite":
            return dialect.type_descriptor(String(27))
        return dialect.type_descriptor(DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        if value is None or dialect.name != "sqlite":
            return value
        return time_text(value)

    def process_result_value(self, value: str | datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return datetime.fromisoformat(value) if isinstance(value, str) else value.astimezone(UTC)


class UuidText(TypeDecorator[str]):
    """A UUID handled as lower-case text with hyphens: uuid on PostgreSQL, text on SQLite."""

    impl = String(36)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "postgresql":
            return dialect.type_descriptor(UUID(as_uuid=False))
        return dialect.type_descriptor(String(36))

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else value.lower()

    def process_result_value(self, value: object, dialect: Dialect) -> str | None:
        return None if value is None else str(value)


LARGEST_ID = 2**63 - 1
LARGEST_SMALL_ID = 2**31 - 1
"""Of messages and channels, which phones know by 32 bits."""
NO_ID = 0
"""An id that no record has."""

Json = JSON(none_as_null=True)
"""A document that is stored and returned unchanged."""


class JsonIndexed(TypeDecorator[Any]):
    """A document whose parts queries can read: jsonb on PostgreSQL."""

    impl = JSON(none_as_null=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name != "postgresql":
            return dialect.type_descriptor(JSON(none_as_null=True))
        from sqlalchemy.dialects.postgresql import JSONB  # noqa: PLC0415  # it loads every driver of PostgreSQL

        return dialect.type_descriptor(JSONB(none_as_null=True))

    def coerce_compared_value(self, op: OperatorType | None, value: Any) -> TypeEngine[Any]:
        return self.impl_instance.coerce_compared_value(op, value)


def new_uuid() -> str:
    return SYSTEM_CLOCK.uuid()


def read_id(text: int | str) -> int:
    """The id of a record; NO_ID for a number that is too large for an id."""
    number = int(text)
    return number if number <= LARGEST_ID else NO_ID


def is_uuid(text: str) -> bool:
    """Whether a string is a UUID in its usual form, of any version, in any case."""
    if len(text) != 36:
        return False
    try:
        return str(uuid_module.UUID(text)) == text.lower()
    except ValueError:
        return False


BigId = BigInteger().with_variant(Integer, "sqlite")
"""The id of a record, 64 bits wide; SQLite numbers a table's rows itself only in a column called INTEGER."""


class NumberedColumns(TypedColumns):
    """An id that is never reused (see `numbered_table`)."""

    id: Named[int] = Column(Integer, primary_key=True, autoincrement=True)


class LinkColumns(TypedColumns):
    """The columns of every row that links records of a workspace; the keys of both records contain the workspace."""

    workspace_id: Named[int] = Column(Integer)


class OwnedColumns(NumberedColumns):
    """The columns of every row of a workspace; only ids in the relayer protocol stay below 2**31."""

    id: Named[int] = Column(BigId, primary_key=True, autoincrement=True)
    workspace_id: Named[int] = Column(Integer, ForeignKey("workspace.id"))


class UuidColumns(NumberedColumns):
    """The columns of records with a UUID that do not belong to a workspace."""

    uuid: Named[str] = Column(UuidText, unique=True, default=new_uuid)


class RecordColumns(OwnedColumns):
    """The columns of every record of a workspace that clients know by its UUID."""

    uuid: Named[str] = Column(UuidText, default=new_uuid)


class NamedRecordColumns(RecordColumns):
    """A record with a name, and the key that makes it unique ignoring case (`persistence.sql.names`)."""

    name: Named[str] = Column(String(64))
    name_key: Named[str] = Column(Text)


Columns = TypeVar("Columns", bound=TypedColumns)


def table_of(name: str, columns: type[Columns], *items: SchemaItem, **options: Any) -> Table[Columns]:
    """A table with indexes and constraints. A class has the columns of one table, or those that the classes below it
    share.
    """
    # SQLAlchemy copies all columns of a class, which takes longer than all else about a table. Only columns of several
    # tables have to be copied, and classes that replace a column of those below them.
    own = {key: value for key, value in vars(columns).items() if isinstance(value, Column)}
    (shared,) = columns.__bases__
    if any(hasattr(shared, key) for key in own):
        return Table(name, metadata, columns, *items, **options)
    for key, column in own.items():
        column.key = column.name = key
        column.nullable = column.nullable and _may_be_null(columns.__annotations__.get(key, Named[Any]))
    return cast("Table[Columns]", Table(name, metadata, shared, *own.values(), *items, **options))


def _may_be_null(annotation: Any) -> bool:
    (kind,) = get_args(annotation)
    return kind is Any or NoneType in get_args(kind)


def numbered_table(name: str, columns: type[Columns], *items: SchemaItem, **options: Any) -> Table[Columns]:
    """A table with an integer id, indexes and constraints; the UUIDs of records are unique in their workspace."""
    if issubclass(columns, RecordColumns):
        items = (UniqueConstraint("uuid", "workspace_id"), *items)
    return table_of(name, columns, *items, sqlite_autoincrement=True, **options)


FOUND_BY = "found_by"
"""Key of `Table.info`: a condition that holds for all visible rows, so that an index can be used."""

ROWS_PER_STATEMENT = 1000

Item = TypeVar("Item")


def split(items: Sequence[Item], size: int = ROWS_PER_STATEMENT) -> Iterator[Sequence[Item]]:
    """The items in their order, at most `size` at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


ON_POSTGRESQL = "where_on_postgresql"
"""Key of `Index.info`: the condition of a partial index, which `persistence.tables.conditions` gives to the index. To
give it at once would load all drivers of PostgreSQL, also on SQLite."""


def partial_index(
    name: str, *columns: str | ColumnElement[Any], where: str, sqlite_where: str | None = None, unique: bool = False
) -> Index:
    """An index over the rows that meet a condition; for SQLite it must be written exactly as in the statements."""
    on_sqlite = text(where if sqlite_where is None else sqlite_where)
    return Index(name, *columns, unique=unique, sqlite_where=on_sqlite, info={ON_POSTGRESQL: where})
