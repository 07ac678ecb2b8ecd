"""What contact queries need of SQL beyond its common part, with the same meaning on SQLite and PostgreSQL.

SQLite gets functions of the contact query language itself, written in Python. PostgreSQL has equivalents for all of
them; letters are folded by its own Unicode tables from version 17 on, before by the character type of the database,
which has to be a UTF-8 one.
"""

import json
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Boolean, ColumnElement, Dialect, Integer, String, Text, TypeDecorator, literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction

from flows.places import name_of
from flows.queries.evaluation import matches_name
from flows.words import fold_case
from persistence.columns import UtcDateTime, time_text
from persistence.name_patterns import make_name_pattern

WHITESPACE = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
UNICODE_TABLES_SINCE = (17,)


class FoldedText(GenericFunction[str]):
    """A text without spaces around it and without regard to case."""

    name = "relayboard_fold"
    type = String()
    inherit_cache = True


class PlaceName(GenericFunction[str]):
    """The last name of a place's path."""

    name = "relayboard_place"
    type = String()
    inherit_cache = True


class NumberOrder(GenericFunction[int]):
    """-1, 0 or 1 as the first number is less than, equal to or greater than the second; both may be decimal texts."""

    name = "relayboard_compare"
    type = Integer()
    inherit_cache = True


class TextAsMoment(GenericFunction[datetime]):
    """The moment that an ISO 8601 text with offset names."""

    name = "relayboard_moment"
    type = UtcDateTime()
    inherit_cache = True


class NamePrefixes(TypeDecorator[list[str]]):
    """Beginnings of words: a pattern that finds them on PostgreSQL, a JSON list on SQLite."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: list[str] | None, dialect: Dialect) -> str | None:
        if value is None:
            return None
        return json.dumps(value) if dialect.name == "sqlite" else make_name_pattern(value)


class NameMatch(GenericFunction[bool]):
    """Whether a word of a name begins with one of the prefixes."""

    name = "relayboard_name_match"
    type = Boolean()
    inherit_cache = True


def make_name_match(name: ColumnElement[Any], prefixes: list[str]) -> ColumnElement[bool]:
    """The condition that a word of a name begins with one of the folded prefixes."""
    return NameMatch(name, literal(prefixes, NamePrefixes()))


def register_query_functions(connection: Any) -> None:
    """Gives a new SQLite connection the functions of contact queries."""
    connection.create_function("relayboard_fold", 1, _fold, deterministic=True)
    connection.create_function("relayboard_place", 1, _name_place, deterministic=True)
    connection.create_function("relayboard_compare", 2, _compare, deterministic=True)
    connection.create_function("relayboard_moment", 1, _write_moment, deterministic=True)
    connection.create_function("relayboard_name_match", 2, _match_name, deterministic=True)


@compiles(FoldedText, "postgresql")
def _fold_on_postgresql(element: FoldedText, compiler: SQLCompiler, **options: Any) -> str:
    (text,) = element.clauses
    version = compiler.dialect.server_version_info or ()
    tables = ' COLLATE "pg_c_utf8"' if version >= UNICODE_TABLES_SINCE else ""
    spaces = compiler.process(literal(WHITESPACE), **options)
    return f"lower(btrim({compiler.process(text, **options)}, {spaces}){tables})"


@compiles(PlaceName, "postgresql")
def _name_place_on_postgresql(element: PlaceName, compiler: SQLCompiler, **options: Any) -> str:
    (path,) = element.clauses
    return f"substring({compiler.process(path, **options)} from '[^>]*$')"


@compiles(NumberOrder, "postgresql")
def _compare_on_postgresql(element: NumberOrder, compiler: SQLCompiler, **options: Any) -> str:
    first, second = (compiler.process(number, **options) for number in element.clauses)
    return f"sign(CAST({first} AS NUMERIC) - CAST({second} AS NUMERIC))"


@compiles(TextAsMoment, "postgresql")
def _read_moment_on_postgresql(element: TextAsMoment, compiler: SQLCompiler, **options: Any) -> str:
    (text,) = element.clauses
    return f"CAST({compiler.process(text, **options)} AS TIMESTAMP WITH TIME ZONE)"


@compiles(NameMatch, "postgresql")
def _match_name_on_postgresql(element: NameMatch, compiler: SQLCompiler, **options: Any) -> str:
    name, pattern = element.clauses
    return f"({compiler.process(FoldedText(name), **options)} ~ {compiler.process(pattern, **options)})"


def _fold(text: str | None) -> str | None:
    return None if text is None else fold_case(text.strip())


def _name_place(path: str | None) -> str | None:
    return None if path is None else name_of(path)


def _compare(first: Any, second: Any) -> int | None:
    if first is None or second is None:
        return None
    left, right = Decimal(str(first)), Decimal(str(second))
    return (left > right) - (left < right)


def _write_moment(text: str | None) -> str | None:
    return None if text is None else time_text(datetime.fromisoformat(text))


def _match_name(name: str | None, prefixes: str) -> bool | None:
    return None if name is None else matches_name(name, json.loads(prefixes))
