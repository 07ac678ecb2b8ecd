"""Records as JSON built by the database: a record is declared once and compiled for SQLite and PostgreSQL."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    ColumnElement,
    Float,
    FromClause,
    Integer,
    Null,
    Numeric,
    Select,
    String,
    Text,
    case,
    cast,
    literal_column,
    null,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.visitors import InternalTraversal
from sqlalchemy.types import TypeEngine

from persistence.sql.columns import JsonIndexed, UtcDateTime, UuidText

Show = Callable[[Sequence[str | None], str | None], Iterable[str]]


class Template(FunctionElement[Any]):
    """An expression that differs between the databases; `{0}` and `{1}` in its text are the arguments."""

    name = "template"
    inherit_cache = True
    texts: ClassVar[Mapping[str, str]]

    def __init_subclass__(cls, *, sqlite: str, postgresql: str, kind: TypeEngine[Any] | None = None) -> None:
        super().__init_subclass__()
        cls.inherit_cache = True
        cls.texts = {"sqlite": sqlite, "postgresql": postgresql}
        cls.type = JSON() if kind is None else kind


@compiles(Template)
def _template(element: Template, compiler: SQLCompiler, **options: Any) -> str:
    parts = [compiler.process(clause, **options) for clause in element.clauses]
    return element.texts[compiler.dialect.name].format(*parts)


class JsonTime(
    Template,
    sqlite="{0}",
    postgresql="""to_char({0} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')""",
    kind=String(),
):
    """A time in the API's text form."""


class JsonBoolean(
    Template,
    sqlite="json(CASE WHEN {0} IS NULL THEN 'null' WHEN {0} THEN 'true' ELSE 'false' END)",
    postgresql="{0}",
):
    """A boolean column as JSON true, false or null."""


class JsonDocument(Template, sqlite="json({0})", postgresql="{0}"):
    """A JSON column or expression inside another document."""


class JsonList(
    Template,
    sqlite="json((SELECT json_group_array(json(s.item)) FROM {0} AS s))",
    postgresql="(SELECT '[' || coalesce(string_agg(s.item::text, ','), '') || ']' FROM {0} AS s)",
):
    """The rows of a one-column subquery, in its order, as a JSON array; empty when it has no rows. `related` says how
    those of many records are found at once.
    """

    related: "Related | None" = None


class JsonTextList(
    JsonList,
    sqlite="json((SELECT json_group_array(s.item) FROM {0} AS s))",
    postgresql="(SELECT '[' || coalesce(string_agg(to_json(s.item)::text, ','), '') || ']' FROM {0} AS s)",
):
    """The texts of a one-column subquery as a JSON array."""


class JsonRecord(FunctionElement[Any]):
    """A JSON object; its arguments are keys and values in turn."""

    type = JSON()
    name = "json_record"
    inherit_cache = True


@compiles(JsonRecord, "sqlite")
def _record_sqlite(element: JsonRecord, compiler: SQLCompiler, **options: Any) -> str:
    return f"json_object({compiler.process(element.clauses, **options)})"


@compiles(JsonRecord, "postgresql")
def _record_postgresql(element: JsonRecord, compiler: SQLCompiler, **options: Any) -> str:
    # Concatenated texts take half the time of json_build_object, which looks up the type of every value of every row.
    parts = list(element.clauses)
    pairs: list[str] = []
    for key, value in zip(parts[::2], parts[1::2], strict=True):
        comma = "," if pairs else ""
        pairs.append(f"'{comma}{_quoted_key(key)}:' || {compile_value(value, compiler, options)}")
    return "('{' || " + " || ".join(pairs) + " || '}')"


def _quoted_key(key: ColumnElement[Any]) -> str:
    """A key literal as JSON text inside a SQL text literal."""
    return '"' + str(key).strip("'") + '"'


def compile_value(value: ColumnElement[Any], compiler: SQLCompiler, options: Mapping[str, Any]) -> str:
    """An expression of PostgreSQL for the JSON text of a value, never null."""
    text = compiler.process(value, **options)
    if isinstance(value, (JsonRecord, JsonList)):
        return text
    if isinstance(value, JsonTime) or isinstance(value.type, UuidText):
        return f"""coalesce('"' || {text} || '"', 'null')"""
    if isinstance(value.type, (JSON, JsonIndexed, Boolean, Float, Integer, Numeric)):
        return f"coalesce(({text})::text, 'null')"
    if isinstance(value, Null):
        return "'null'"
    return f"coalesce(to_json(({text})::text)::text, 'null')"


def json_value(value: ColumnElement[Any]) -> ColumnElement[Any]:
    """A column as part of a JSON document: times in the API's form, Booleans and documents unchanged."""
    if isinstance(value, FunctionElement) and isinstance(value.type, JSON):
        return value
    if isinstance(value.type, UtcDateTime):
        return JsonTime(value)
    if isinstance(value.type, Boolean):
        return JsonBoolean(value)
    if isinstance(value.type, (JSON, JsonIndexed)):
        return JsonDocument(value)
    return value


def json_record(fields: Mapping[str, Any]) -> ColumnElement[Any]:
    """A JSON object expression: `json_record({"uuid": label.c.uuid, "name": label.c.name})`, at most 50 keys."""
    parts: list[ColumnElement[Any]] = []
    for key, value in fields.items():
        parts += [literal_column(f"'{key}'"), json_value(value)]
    return JsonRecord(*parts)


class OptionalRecord(JsonDocument, sqlite="json({0})", postgresql="{0}"):
    """An object or null. `present` is not null where there is an object, which `record` describes."""

    present: ColumnElement[Any]
    record: ColumnElement[Any]


def json_record_or_null(present: ColumnElement[Any], fields: Mapping[str, Any]) -> ColumnElement[Any]:
    """The object if `present` is not null, otherwise null (for outer joins)."""
    record = json_record(fields)
    found = OptionalRecord(case((present.is_not(None), record), else_=null()))
    found.present, found.record = present, record
    return found


def json_list(inner: Select[Any]) -> ColumnElement[Any]:
    """An array of the one column of `inner`, labeled `item`, which must be a JSON expression.

    Correlate the select with the outer table: `select(json_record({...}).label("item")).where(...).correlate(message)`.
    """
    return JsonList(inner.scalar_subquery())


def json_text_list(inner: Select[Any]) -> ColumnElement[Any]:
    """An array of texts: the one column of `inner`, labeled `item`, is plain text."""
    return JsonTextList(inner.scalar_subquery())


@dataclass(frozen=True, slots=True)
class Related:
    """Records that belong to others, as JSON: the `item` of each row of `source` whose `link` is the id `owner`. Where
    many have the same few items, `source` joins a table of links with that of the items, whose ids are `item_id`; the
    links name them in `key`.
    """

    owner: ColumnElement[int]
    link: ColumnElement[Any]
    source: FromClause
    item: ColumnElement[Any]
    order_by: tuple[ColumnElement[Any], ...]
    key: Column[Any] | None = None
    item_id: Column[Any] | None = None


def json_related(
    owner: ColumnElement[int],
    link: ColumnElement[Any],
    source: FromClause,
    item: ColumnElement[Any],
    *order_by: ColumnElement[Any],
) -> ColumnElement[Any]:
    """An array of what belongs to a record: see `Related`. The item is a JSON object, or plain text."""
    return _json_list(Related(owner, link, source, item, order_by))


def json_shared(
    owner: ColumnElement[int],
    link: ColumnElement[Any],
    key: Column[Any],
    item_id: Column[Any],
    item: ColumnElement[Any],
    *order_by: ColumnElement[Any],
) -> ColumnElement[Any]:
    """Like `json_related`, for items that belong to many: labels of messages, groups of contacts."""
    source = key.table.join(item_id.table, item_id == key)
    return _json_list(Related(owner, link, source, item, order_by, key, item_id))


def _json_list(related: Related) -> ColumnElement[Any]:
    rows = select(related.item.label("item")).select_from(related.source).where(related.link == related.owner)
    inner = rows.order_by(*related.order_by).correlate(related.owner.table).scalar_subquery()
    found = JsonList(inner) if isinstance(related.item.type, JSON) else JsonTextList(inner)
    found.related = related
    return found


class JsonShown(JsonDocument, sqlite="json({0})", postgresql="{0}"):
    """A stored document of which people see something else. `show` gets those of all records of a page, as texts, and
    the text of `help`, a query for what it needs to know of their workspace, given the workspace's id.
    """

    help: Callable[[ColumnElement[int]], ColumnElement[Any]]
    show: Show


def json_shown(
    document: ColumnElement[Any], help: Callable[[ColumnElement[int]], ColumnElement[Any]], show: Show
) -> ColumnElement[Any]:
    found = JsonShown(document)
    found.help, found.show = help, show
    return found


def declare_record(fields: Mapping[str, ColumnElement[Any]]) -> ColumnElement[Any]:
    """`json_record` for records that modules declare once: the statement cache identifies them by name. Otherwise
    SQLAlchemy traverses all parts of a record for every statement, which takes longer than many queries.
    """
    record = json_record(fields)
    _DECLARED[id(record)] = record
    return record


def is_declared(record: ColumnElement[Any]) -> bool:
    return id(record) in _DECLARED


_DECLARED: dict[int, ColumnElement[Any]] = {}
"""The declared records by identity; they live as long as the process."""


class Document(ColumnElement[str]):
    """A declared record as text."""

    inherit_cache = False
    _traverse_internals = [("name", InternalTraversal.dp_string)]  # noqa: RUF012  # SQLAlchemy's own protocol

    def __init__(self, record: ColumnElement[Any]) -> None:
        self.record = record
        self.name = f"record {id(record)}"
        self.type = Text()


@compiles(Document)
def _document(element: Document, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(cast(element.record, Text), **options)


def as_text(document: ColumnElement[Any]) -> ColumnElement[str]:
    """The document as text, so that no driver parses it."""
    if id(document) in _DECLARED:
        return Document(document)
    return cast(document, Text)
