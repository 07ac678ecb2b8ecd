"""SQL functions for contact queries and the search for a phone number, with the same meaning on SQLite and PostgreSQL.
SQLite gets the functions of the contact query language itself, written in Python. PostgreSQL has equivalents for all of
them; from version 17 on it folds case by its own Unicode tables, before by the character type of the database, which
must be UTF-8.

What only queries need is loaded with the first one: every command registers these functions, and few call them.
"""

import json
import re
import sqlite3
from array import array
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any

from sqlalchemy import Boolean, ColumnElement, Dialect, Integer, String, Text, TypeDecorator, literal, literal_column
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction

from persistence.sql.columns import UtcDateTime, time_text

WHITESPACE = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
UNICODE_TABLES, UNICODE_TABLES_SINCE = "pg_c_utf8", (17,)
BETWEEN_DIGITS = " -.()/+"
"""What people write between the digits of a phone number; `+` is a space in forms."""
_NOTHING_BETWEEN = str.maketrans("", "", BETWEEN_DIGITS)
_THREE_LETTERS = re.compile(r"[^\W_]{3}")
_LIKE_SPECIAL, _ESCAPED = re.compile(r"([\\%_])"), r"\\\1"


class FoldedText(GenericFunction[str]):
    """A text without spaces around it, case-folded."""

    name = "relayboard_fold"
    type = String()
    inherit_cache = True


class PlaceName(GenericFunction[str]):
    """The last name in a boundary's path."""

    name = "relayboard_place"
    type = String()
    inherit_cache = True


class NumberOrder(GenericFunction[int]):
    """-1, 0 or 1 if the first number is less than, equal to or greater than the second; both may be decimal texts."""

    name = "relayboard_compare"
    type = Integer()
    inherit_cache = True


class TextAsMoment(GenericFunction[datetime]):
    """The time of an ISO 8601 text with an offset."""

    name = "relayboard_moment"
    type = UtcDateTime()
    inherit_cache = True


class LowerText(GenericFunction[str]):
    """A text in lower case."""

    name = "relayboard_lower"
    type = String()
    inherit_cache = True


class JoinedText(GenericFunction[str]):
    """A text without what stands between the digits of a phone number."""

    name = "relayboard_join"
    type = String()
    inherit_cache = True


class MayContain(GenericFunction[bool]):
    """Whether a text in lower case has a part that fits a pattern of LIKE, which PostgreSQL finds by an index, if there
    is one. SQLite has none, and takes each text for one that has it.
    """

    name = "relayboard_may_contain"
    type = Boolean()
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
    """Whether a word of a name begins with one of the prefixes. After them come patterns of LIKE for PostgreSQL: each
    such name fits one.
    """

    name = "relayboard_name_match"
    type = Boolean()
    inherit_cache = True


def make_name_match(name: ColumnElement[Any], prefixes: list[str]) -> ColumnElement[bool]:
    """The condition that a word of a name begins with one of the folded prefixes."""
    patterns = [_pattern_of(prefix) for prefix in prefixes]
    searched = name if all(map(_THREE_LETTERS.search, prefixes)) else _beside_index(name)
    return NameMatch(searched, literal(prefixes, NamePrefixes()), *patterns)


def folds_to(text: ColumnElement[Any], value: str) -> ColumnElement[bool]:
    """The condition that a text is this one, in any case and without spaces around it."""
    # The database folds both: before version 17 of PostgreSQL it may do so by other tables than we.
    return _may_contain(text, LowerText(_pattern_of(value.strip())), value) & (FoldedText(text) == FoldedText(value))


def contains_folded(text: ColumnElement[Any], part: str) -> ColumnElement[bool]:
    """The condition that a text contains this one, in any case and without spaces around it."""
    folded = _folded(part)
    return _may_contain(text, _pattern_of(folded), folded) & FoldedText(text).contains(folded, autoescape=True)


def _may_contain(text: ColumnElement[Any], pattern: ColumnElement[str], part: str) -> ColumnElement[bool]:
    return MayContain(text if _THREE_LETTERS.search(part) else _beside_index(text), pattern)


def _beside_index(text: ColumnElement[Any]) -> ColumnElement[Any]:
    """The same text for a search whose part is too short for an index of three letters each: PostgreSQL would read all
    of the index, and then all rows.
    """
    return text.concat(literal_column("''"))


def _folded(text: str) -> str:
    from flows.words import fold_case  # noqa: PLC0415  # see above

    return fold_case(text.strip())


def _pattern_of(part: str) -> ColumnElement[str]:
    return literal(f"%{_LIKE_SPECIAL.sub(_ESCAPED, part)}%", Text())


def register_query_functions(connection: sqlite3.Connection) -> None:
    """Gives a new SQLite connection the functions of contact queries."""
    connection.create_function("relayboard_fold", 1, _fold, deterministic=True)
    connection.create_function("relayboard_place", 1, _name_place, deterministic=True)
    connection.create_function("relayboard_compare", 2, _compare, deterministic=True)
    connection.create_function("relayboard_moment", 1, _write_moment, deterministic=True)
    connection.create_function("relayboard_join", 1, _join, deterministic=True)
    connection.create_function("relayboard_name_match", -1, _match_name, deterministic=True)


@compiles(FoldedText, "postgresql")
def _fold_on_postgresql(element: FoldedText, compiler: SQLCompiler, **options: Any) -> str:
    (text,) = element.clauses
    spaces = compiler.process(literal(WHITESPACE), **options)
    trimmed = f"btrim({compiler.process(text, **options)}, {spaces})"
    return in_lower_case(trimmed, compiler.dialect)


def in_lower_case(text: str, dialect: Dialect) -> str:
    """An expression for a text in lower case; of PostgreSQL, on a server of the dialect's version."""
    if dialect.name == "sqlite":
        return f"lower({text})"
    version: Any = dialect.server_version_info or ()
    tables = f' COLLATE "{UNICODE_TABLES}"' if version >= UNICODE_TABLES_SINCE else ""
    return f"lower({text}{tables})"


@compiles(LowerText)
def _lower(element: LowerText, compiler: SQLCompiler, **options: Any) -> str:
    (text,) = element.clauses
    return in_lower_case(compiler.process(text, **options), compiler.dialect)


@compiles(MayContain, "sqlite")
def _may_contain_on_sqlite(element: MayContain, compiler: SQLCompiler, **options: Any) -> str:
    _, pattern = element.clauses
    return f"({compiler.process(pattern, **options)} IS NOT NULL)"


@compiles(MayContain, "postgresql")
def _may_contain_on_postgresql(element: MayContain, compiler: SQLCompiler, **options: Any) -> str:
    text, pattern = element.clauses
    lower = compiler.process(LowerText(text), **options)
    return f"({lower} LIKE {compiler.process(pattern, **options)})"


@compiles(JoinedText, "postgresql")
def _join_on_postgresql(element: JoinedText, compiler: SQLCompiler, **options: Any) -> str:
    (text,) = element.clauses
    return f"translate({compiler.process(text, **options)}, '{BETWEEN_DIGITS}', '')"


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
    name, pattern, *parts = element.clauses
    lower = in_lower_case(compiler.process(name, **options), compiler.dialect)
    folded = compiler.process(FoldedText(name), **options)
    # As PostgreSQL finds it by an index, if there is one (see persistence.migrations.part_indexes).
    has_part = " OR ".join(f"{lower} LIKE {compiler.process(part, **options)}" for part in parts) or "false"
    # A pattern with all letters of Unicode takes ten times as long as LIKE, which leaves few names to it.
    begins = f"CASE WHEN NOT ({has_part}) THEN false ELSE {folded} ~ {compiler.process(pattern, **options)} END"
    return f"(({has_part}) AND {begins})"


def _fold(text: str | None) -> str | None:
    return None if text is None else _folded(text)


def _join(text: str | None) -> str | None:
    return None if text is None else text.translate(_NOTHING_BETWEEN)


def _name_place(path: str | None) -> str | None:
    from flows.places import name_of  # noqa: PLC0415  # see above

    return None if path is None else name_of(path)


def _compare(first: object, second: object) -> int | None:
    if first is None or second is None:
        return None
    left, right = Decimal(str(first)), Decimal(str(second))
    return (left > right) - (left < right)


def _write_moment(text: str | None) -> str | None:
    return None if text is None else time_text(datetime.fromisoformat(text))


def _match_name(name: str | None, prefixes: str, *_patterns: str) -> bool | None:
    from flows.queries.evaluation import matches_name  # noqa: PLC0415  # see above

    return None if name is None else matches_name(name, json.loads(prefixes))


_HEBREW = r"\p{WB=Hebrew_Letter}"
_LETTER = rf"\p{{WB=ALetter}}{_HEBREW}"
_JOINING = rf"{_LETTER}\p{{WB=Numeric}}\p{{WB=ExtendNumLet}}"
_KATAKANA = r"\p{WB=Katakana}\p{WB=ExtendNumLet}"
_INVISIBLE = r"\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}"
_WITHIN_WORDS = r"\p{WB=MidLetter}\p{WB=MidNumLet}\p{WB=Single_Quote}"
_WITHIN_NUMBERS = r"\p{WB=MidNum}\p{WB=MidNumLet}\p{WB=Single_Quote}"
_SPECIAL = frozenset("\\]^-[")
_LAST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


def make_name_pattern(prefixes: Sequence[str]) -> str:
    """A regular expression that finds a word beginning with one of the folded prefixes in a folded name."""
    return "|".join(f"{_before(prefix[0])}{_escape(prefix)}" for prefix in prefixes)


def _before(first: str) -> str:
    """Lookbehinds for everything that would join a word's first character to the characters before it."""
    if _belongs(first, _LETTER):
        is_hebrew = _belongs(first, _HEBREW)
        return (
            _not_after(_JOINING) + _not_after(_LETTER, _WITHIN_WORDS) + (_not_after(_HEBREW, '"') if is_hebrew else "")
        )
    if _belongs(first, r"\p{WB=Numeric}"):
        return _not_after(_JOINING) + _not_after(r"\p{WB=Numeric}", _WITHIN_NUMBERS)
    if _belongs(first, r"\p{WB=Katakana}"):
        return _not_after(_KATAKANA)
    if _belongs(first, r"\p{WB=ExtendNumLet}"):
        return _not_after(_JOINING + r"\p{WB=Katakana}")
    return ""


def _not_after(*classes: str) -> str:
    return f"(?<!{''.join(f'[{_spell(one)}][{_spell(_INVISIBLE)}]*' for one in classes)})"


def _belongs(character: str, properties: str) -> bool:
    import regex  # noqa: PLC0415  # see above

    return regex.match(f"[{properties}]", character) is not None


@cache
def _spell(properties: str) -> str:
    """The characters with one of these properties, as ranges within brackets."""
    import regex  # noqa: PLC0415  # see above

    return "".join(
        _write(run[0]) if len(run) == 1 else f"{_write(run[0])}-{_write(run[-1])}"
        for run in regex.findall(f"[{properties}]+", _all_characters())
    )


def _all_characters() -> str:
    codes = array("I", range(1, _SURROGATES.start)) + array("I", range(_SURROGATES.stop, _LAST_CODE_POINT + 1))
    return codes.tobytes().decode("utf-32")


def _write(character: str) -> str:
    return f"\\u{ord(character):04x}" if character in _SPECIAL else character


def _escape(prefix: str) -> str:
    return "".join(f"\\{letter}" if letter.isascii() and not letter.isalnum() else letter for letter in prefix)
