"""Records as JSON that the database builds: a shape is declared once and compiled for SQLite and PostgreSQL."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    ColumnElement,
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
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.selectable import ScalarSelect
from sqlalchemy.sql.visitors import InternalTraversal

from persistence.sql.columns import UtcDateTime, UuidText


class JsonRecord(FunctionElement[Any]):
    """A JSON object of alternating key literals and values."""

    type = JSON()
    name = "json_record"
    inherit_cache = True


class JsonTime(FunctionElement[str]):
    """A moment in the API's text form."""

    type = String()
    name = "json_time"
    inherit_cache = True


class JsonBoolean(FunctionElement[Any]):
    """A boolean column as JSON true, false or null."""

    type = JSON()
    name = "json_boolean"
    inherit_cache = True


class JsonDocument(FunctionElement[Any]):
    """A JSON column or expression put inside another document."""

    type = JSON()
    name = "json_document"
    inherit_cache = True


class JsonList(FunctionElement[Any]):
    """The rows of a one-column subquery, in its order, as a JSON array; empty when it has no rows."""

    type = JSON()
    name = "json_list"
    inherit_cache = True


class JsonMap(FunctionElement[Any]):
    """The rows of a two-column subquery (columns named `key` and `item`) as a JSON object."""

    type = JSON()
    name = "json_map"
    inherit_cache = True


@compiles(JsonRecord, "sqlite")
def _record_sqlite(element: JsonRecord, compiler: SQLCompiler, **options: Any) -> str:
    return f"json_object({compiler.process(element.clauses, **options)})"


@compiles(JsonRecord, "postgresql")
def _record_postgresql(element: JsonRecord, compiler: SQLCompiler, **options: Any) -> str:
    # Joined texts take half the time of json_build_object, which looks up the type of every value of every row.
    parts = list(element.clauses)
    pairs: list[str] = []
    for key, value in zip(parts[::2], parts[1::2], strict=True):
        comma = "," if pairs else ""
        pairs.append(f"'{comma}{_quoted_key(key)}:' || {_postgresql_value(value, compiler, options)}")
    return "('{' || " + " || ".join(pairs) + " || '}')"


def _quoted_key(key: ColumnElement[Any]) -> str:
    """A key literal as JSON text inside a SQL text literal."""
    return '"' + str(key).strip("'") + '"'


def _postgresql_value(value: ColumnElement[Any], compiler: SQLCompiler, options: Any) -> str:
    """An expression for the JSON text of a value, never null."""
    text = compiler.process(value, **options)
    if isinstance(value, (JsonRecord, JsonList, JsonTextList, JsonMap)):
        return text
    if isinstance(value, JsonTime) or isinstance(value.type, UuidText):
        return f"""coalesce('"' || {text} || '"', 'null')"""
    if isinstance(value.type, (JSON, JSONB, Boolean, Integer, Numeric)):
        return f"coalesce(({text})::text, 'null')"
    if isinstance(value, Null):
        return "'null'"
    return f"coalesce(to_json(({text})::text)::text, 'null')"


@compiles(JsonTime, "sqlite")
def _time_sqlite(element: JsonTime, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.clauses, **options)


@compiles(JsonTime, "postgresql")
def _time_postgresql(element: JsonTime, compiler: SQLCompiler, **options: Any) -> str:
    moment = compiler.process(element.clauses, **options)
    return f"to_char({moment} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"


@compiles(JsonBoolean, "sqlite")
def _boolean_sqlite(element: JsonBoolean, compiler: SQLCompiler, **options: Any) -> str:
    value = compiler.process(element.clauses, **options)
    return f"json(CASE WHEN {value} IS NULL THEN 'null' WHEN {value} THEN 'true' ELSE 'false' END)"


@compiles(JsonBoolean, "postgresql")
def _boolean_postgresql(element: JsonBoolean, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.clauses, **options)


@compiles(JsonDocument, "sqlite")
def _document_sqlite(element: JsonDocument, compiler: SQLCompiler, **options: Any) -> str:
    return f"json({compiler.process(element.clauses, **options)})"


@compiles(JsonDocument, "postgresql")
def _document_postgresql(element: JsonDocument, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.clauses, **options)


@compiles(JsonList, "sqlite")
def _list_sqlite(element: JsonList, compiler: SQLCompiler, **options: Any) -> str:
    return f"json((SELECT json_group_array(json(s.item)) FROM {compiler.process(element.clauses, **options)} AS s))"


@compiles(JsonList, "postgresql")
def _list_postgresql(element: JsonList, compiler: SQLCompiler, **options: Any) -> str:
    inner = compiler.process(element.clauses, **options)
    return f"(SELECT '[' || coalesce(string_agg(s.item::text, ','), '') || ']' FROM {inner} AS s)"


@compiles(JsonMap, "sqlite")
def _map_sqlite(element: JsonMap, compiler: SQLCompiler, **options: Any) -> str:
    return f"json((SELECT json_group_object(s.key, s.item) FROM {compiler.process(element.clauses, **options)} AS s))"


@compiles(JsonMap, "postgresql")
def _map_postgresql(element: JsonMap, compiler: SQLCompiler, **options: Any) -> str:
    inner = compiler.process(element.clauses, **options)
    pair = "to_json(s.key)::text || ':' || coalesce(to_json(s.item)::text, 'null')"
    return f"(SELECT '{{' || coalesce(string_agg({pair}, ','), '') || '}}' FROM {inner} AS s)"


def json_value(value: ColumnElement[Any]) -> ColumnElement[Any]:
    """A column as it goes into a JSON document: times in the API's form, booleans and documents as themselves."""
    if isinstance(value, FunctionElement) and isinstance(value.type, JSON):
        return value
    if isinstance(value.type, UtcDateTime):
        return JsonTime(value)
    if isinstance(value.type, Boolean):
        return JsonBoolean(value)
    if isinstance(value.type, (JSON, JSONB)):
        return JsonDocument(value)
    return value


def json_record(fields: Mapping[str, Any]) -> ColumnElement[Any]:
    """A JSON object expression: `json_record({"uuid": label.c.uuid, "name": label.c.name})`, at most 50 keys."""
    parts: list[ColumnElement[Any]] = []
    for key, value in fields.items():
        parts += [literal_column(f"'{key}'"), json_value(value)]
    return JsonRecord(*parts)


def json_record_or_null(present: ColumnElement[Any], fields: Mapping[str, Any]) -> ColumnElement[Any]:
    """The object when `present` is not null, else null (for outer joins)."""
    return JsonDocument(case((present.is_not(None), json_record(fields)), else_=null()))


def json_list(inner: Select[Any]) -> ColumnElement[Any]:
    """An array of the one column of `inner`, labeled `item`, which must be a JSON expression.

    Correlate the select with the outer table: `select(json_record({...}).label("item")).where(...).correlate(message)`.
    """
    return JsonList(_subquery(inner))


def json_text_list(inner: Select[Any]) -> ColumnElement[Any]:
    """An array of texts: the one column of `inner`, labeled `item`, is plain text."""
    return JsonTextList(_subquery(inner))


class JsonTextList(FunctionElement[Any]):
    """The texts of a one-column subquery as a JSON array."""

    type = JSON()
    name = "json_text_list"
    inherit_cache = True


@compiles(JsonTextList, "sqlite")
def _text_list_sqlite(element: JsonTextList, compiler: SQLCompiler, **options: Any) -> str:
    return f"json((SELECT json_group_array(s.item) FROM {compiler.process(element.clauses, **options)} AS s))"


@compiles(JsonTextList, "postgresql")
def _text_list_postgresql(element: JsonTextList, compiler: SQLCompiler, **options: Any) -> str:
    inner = compiler.process(element.clauses, **options)
    return f"(SELECT '[' || coalesce(string_agg(to_json(s.item)::text, ','), '') || ']' FROM {inner} AS s)"


def json_map(inner: Select[*tuple[Any, ...]]) -> ColumnElement[Any]:
    """An object made of the columns labeled `key` (text) and `item` of `inner`; see `json_list` on correlation."""
    return JsonMap(_subquery(inner))


def _subquery(inner: Select[Any]) -> ScalarSelect[Any]:
    return inner.scalar_subquery()


def declare_record(fields: Mapping[str, ColumnElement[Any]]) -> ColumnElement[Any]:
    """`json_record` for records that modules declare once: statements with them are recognized by name.

    SQLAlchemy otherwise walks through all parts of a record for every statement, which takes longer than many queries.
    """
    record = json_record(fields)
    _DECLARED[id(record)] = record
    return record


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


class JsonPart(FunctionElement[str]):
    """The text at `document[key][part]`, where key and part are columns; null when there is none."""

    type = String()
    name = "json_part"
    inherit_cache = True


@compiles(JsonPart, "sqlite")
def _part_sqlite(element: JsonPart, compiler: SQLCompiler, **options: Any) -> str:
    document, key, part = (compiler.process(clause, **options) for clause in element.clauses)
    return f"""json_extract({document}, '$."' || {key} || '"."' || {part} || '"')"""


@compiles(JsonPart, "postgresql")
def _part_postgresql(element: JsonPart, compiler: SQLCompiler, **options: Any) -> str:
    document, key, part = (compiler.process(clause, **options) for clause in element.clauses)
    return f"({document} -> ({key})::text ->> {part})"
