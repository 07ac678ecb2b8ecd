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
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any

import regex
from sqlalchemy import Boolean, ColumnElement, Dialect, Integer, String, Text, TypeDecorator, literal, literal_column
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction

from flows.typed import (
    ACCENTS,
    LIKE_ANOTHER,
    ODD,
    SEPARATORS,
    TWO_LETTERS,
    WITHOUT_SPACES,
    WORD_LENGTH,
    indexed_words,
    same_form,
    search_form,
)
from persistence.sql.columns import UtcDateTime, time_text

UNICODE_TABLES, UNICODE_TABLES_SINCE = "pg_c_utf8", (17,)
OF_WORKSPACE = "@"
"""With it begins the mark by which an index of words finds those of one workspace; no word has it."""
BETWEEN_DIGITS = " -.()/+"
"""What people write between the digits of a phone number; `+` is a space in forms."""
_NOTHING_BETWEEN = str.maketrans("", "", BETWEEN_DIGITS)
_THREE_LETTERS = regex.compile(r"[\p{Alphabetic}\p{Nd}]{3}")
_LIKE_SPECIAL, _ESCAPED = re.compile(r"([\\%_])"), r"\\\1"


class FoldedText(GenericFunction[str]):
    """`flows.typed.same_form` of a text: equal for texts that people take for the same."""

    name = "relayboard_fold"
    type = String()
    inherit_cache = True


class SearchText(GenericFunction[str]):
    """`flows.typed.search_form` of a text: what searches look into."""

    name = "relayboard_search"
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


class JoinedText(GenericFunction[str]):
    """A text without what stands between the digits of a phone number."""

    name = "relayboard_join"
    type = String()
    inherit_cache = True


class MayContain(GenericFunction[bool]):
    """Whether the form of a text in which searches look has a part that fits a pattern of LIKE, which PostgreSQL finds
    by an index, if there is one. SQLite has none, and takes each text for one that has it.
    """

    name = "relayboard_may_contain"
    type = Boolean()
    inherit_cache = True


class Contains(GenericFunction[bool]):
    """Whether the form of a text in which searches look fits a pattern of LIKE."""

    name = "relayboard_contains"
    type = Boolean()
    inherit_cache = True


class HasWords(GenericFunction[bool]):
    """Whether a text of a workspace has wanted words: a query of PostgreSQL's text search, which an index answers, and
    a JSON list of the words and the beginnings of words on SQLite."""

    name = "relayboard_has_words"
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
    """The condition that a word of a name begins with one of the prefixes, or has such a part if it is of a script
    without spaces; both as searches see them.
    """
    patterns = [_pattern_of(prefix) for prefix in prefixes]
    searched = name if all(map(_THREE_LETTERS.search, prefixes)) else _beside_index(name)
    return NameMatch(searched, literal(prefixes, NamePrefixes()), *patterns)


def is_same(text: ColumnElement[Any], value: str) -> ColumnElement[bool]:
    """The condition that people take a text for this one (`flows.typed.same_form`)."""
    return FoldedText(text) == literal(same_form(value), Text())


def folds_to(text: ColumnElement[Any], value: str) -> ColumnElement[bool]:
    """The same condition for a search, which PostgreSQL answers by an index, if there is one."""
    folded = search_form(value)
    return MayContain(_searched_for(text, folded), _pattern_of(folded)) & is_same(text, value)


def contains_folded(text: ColumnElement[Any], part: str) -> ColumnElement[bool]:
    """The condition that a text contains this one, as searches see both (`flows.typed.search_form`)."""
    folded = search_form(part)
    return Contains(_searched_for(text, folded), _pattern_of(folded))


def _searched_for(text: ColumnElement[Any], part: str) -> ColumnElement[Any]:
    return text if _THREE_LETTERS.search(part) else _beside_index(text)


def _beside_index(text: ColumnElement[Any]) -> ColumnElement[Any]:
    """The same text for a search whose part is too short for an index of three letters each: PostgreSQL would read all
    of the index, and then all rows.
    """
    return text.concat(literal_column("''"))


def _pattern_of(part: str) -> ColumnElement[str]:
    return literal(f"%{_LIKE_SPECIAL.sub(_ESCAPED, part)}%", Text())


def register_query_functions(connection: sqlite3.Connection) -> None:
    """Gives a new SQLite connection the functions of contact queries."""
    connection.create_function("relayboard_fold", 1, _fold, deterministic=True)
    connection.create_function("relayboard_search", 1, _search, deterministic=True)
    connection.create_function("relayboard_words", 2, join_words, deterministic=True)
    connection.create_function("relayboard_has_words", 2, _has_words, deterministic=True)
    connection.create_function("relayboard_place", 1, _name_place, deterministic=True)
    connection.create_function("relayboard_compare", 2, _compare, deterministic=True)
    connection.create_function("relayboard_moment", 1, _write_moment, deterministic=True)
    connection.create_function("relayboard_join", 1, _join, deterministic=True)
    connection.create_function("relayboard_name_match", 2, _match_name, deterministic=True)


def _literal(text: str) -> str:
    # A percent sign would begin a parameter, a colon would name one.
    assert not set(text) & set("%:\\"), "not for a text of SQL"
    return "'" + text.replace("'", "''") + "'"


def _class_of(ranges: Iterable[tuple[int, int]]) -> str:
    return "[" + "".join(f"{chr(first)}-{chr(last)}" if first < last else chr(first) for first, last in ranges) + "]"


def _ranges_of(characters: Iterable[str]) -> Iterable[tuple[int, int]]:
    codes = set(map(ord, characters))
    firsts, lasts = (sorted(code for code in codes if code + step not in codes) for step in (-1, 1))
    return zip(firsts, lasts, strict=True)


# A query may have a hundred conditions, each with such an expression: they are made once, and as short as can be.
_KEPT = "".join(sign for sign, meant in ODD.items() if meant)
_DELETED = "".join(sign for sign, meant in ODD.items() if not meant)
_ODD_CLASS = _literal(_class_of(_ranges_of(ODD)))
_MEANT = f"{_literal(_KEPT + _DELETED)}, {_literal(''.join(ODD[sign] for sign in _KEPT))}"
_ACCENTS = _literal(_class_of(ACCENTS) + "+")
_ANOTHER = f"{_literal(''.join(LIKE_ANOTHER))}, {_literal(''.join(LIKE_ANOTHER.values()))}"
_UNDIVIDED = rf"'([{WITHOUT_SPACES}])(?: +(?=[{WITHOUT_SPACES}]))?', '\1\1'"
_SEPARATORS = _literal(_class_of(SEPARATORS) + "+")
# Scripts without spaces beside others, and the two of each doubled letter.
_BESIDE_UNDIVIDED = rf"'([{WITHOUT_SPACES}])(?=[^{WITHOUT_SPACES} ])|([^{WITHOUT_SPACES} ])(?=[{WITHOUT_SPACES}])'"
_TWICE = rf"'([{WITHOUT_SPACES}])\1', '\1 \1'"
_WORD = "a-z0-9\x80-\U0010ffff"
_BETWEEN_WORDS = f"'[^{_WORD}]+', ' '"
_TOO_LONG = rf"'([^ ]{{{WORD_LENGTH}}})[^ ]+', '\1'"
_SPACES_OF_ASCII = " \\t\\n\\r\\f\\x0b\\x1c\\x1d\\x1e\\x1f"


@compiles(FoldedText, "postgresql")
def _fold_on_postgresql(element: FoldedText, compiler: SQLCompiler, **options: Any) -> str:
    (text,) = element.clauses
    given = compiler.process(text, **options)
    sigma = f"translate(normalize({_without_odd(given)}, NFKC), '\u03c2', '\u03c3')"
    folded = f"CASE WHEN {_is_ascii(given)} THEN {given} ELSE {sigma} END"
    return f"btrim({_in_lower_case(folded, compiler.dialect)}, E'{_SPACES_OF_ASCII}')"


@compiles(SearchText, "postgresql")
def _search_on_postgresql(element: SearchText, compiler: SQLCompiler, **options: Any) -> str:
    (text,) = element.clauses
    return in_search_form(compiler.process(text, **options), compiler.dialect)


def in_search_form(text: str, dialect: Dialect) -> str:
    """An expression of PostgreSQL for the form in which searches look; also that of the index of it."""
    lower, other = _in_lower_case(text, dialect), _without_accents(text, dialect)
    return f"btrim(CASE WHEN {_is_ascii(text)} THEN {lower} ELSE {other} END, E'{_SPACES_OF_ASCII}')"


def as_words(workspace_id: str, text: str, dialect: Dialect) -> str:
    """An expression of PostgreSQL for the words of a text (`flows.typed.indexed_words`) and the mark of its workspace;
    also that of the index of them."""
    apart = f"regexp_replace({_without_accents(text, dialect)}, {_SEPARATORS}, ' ', 'g')"
    apart = f"regexp_replace({apart}, {_BESIDE_UNDIVIDED}, '\\1\\2 ', 'g')"
    apart = f"regexp_replace({apart}, {_TWICE}, 'g')"
    form = f"CASE WHEN {_is_ascii(text)} THEN {_in_lower_case(text, dialect)} ELSE {apart} END"
    # Both in one expression take ten times as long.
    words = f"btrim(regexp_replace(regexp_replace({form}, {_BETWEEN_WORDS}, 'g'), {_TOO_LONG}, 'g'))"
    marked = f"btrim('{OF_WORKSPACE}' || CAST({workspace_id} AS text) || ' ' || {words})"
    return f"array_to_tsvector(string_to_array({marked}, ' '))"


def _without_accents(text: str, dialect: Dialect) -> str:
    bare = f"regexp_replace(normalize({_without_odd(text)}, NFKD), {_ACCENTS}, '', 'g')"
    bare = _in_lower_case(bare, dialect)
    for letter, letters in TWO_LETTERS.items():
        bare = f"replace({bare}, '{letter}', '{letters}')"
    return f"regexp_replace(normalize(translate({bare}, {_ANOTHER}), NFC), {_UNDIVIDED}, 'g')"


def _in_lower_case(text: str, dialect: Dialect) -> str:
    """In lower case on a server of the dialect's version."""
    version: Any = dialect.server_version_info or ()
    tables = f' COLLATE "{UNICODE_TABLES}"' if version >= UNICODE_TABLES_SINCE else ""
    return f"lower(({text}){tables})"


def _is_ascii(text: str) -> str:
    """Most texts are, and need nothing more."""
    return f"octet_length({text}) = char_length({text})"


def _without_odd(text: str) -> str:
    # Few texts have an odd sign, and to translate takes as long as the table is.
    return f"CASE WHEN {text} ~ {_ODD_CLASS} THEN translate({text}, {_MEANT}) ELSE {text} END"


@compiles(MayContain, "sqlite")
def _may_contain_on_sqlite(element: MayContain, compiler: SQLCompiler, **options: Any) -> str:
    _, pattern = element.clauses
    return f"({compiler.process(pattern, **options)} IS NOT NULL)"


@compiles(Contains, "sqlite")
def _contains_on_sqlite(element: Contains, compiler: SQLCompiler, **options: Any) -> str:
    text, pattern = element.clauses
    searched = compiler.process(SearchText(text), **options)
    return f"({searched} LIKE {compiler.process(pattern, **options)} ESCAPE '\\')"


@compiles(Contains, "postgresql")
@compiles(MayContain, "postgresql")
def _contains_on_postgresql(element: Contains | MayContain, compiler: SQLCompiler, **options: Any) -> str:
    text, pattern = element.clauses
    searched = compiler.process(SearchText(text), **options)
    return f"({searched} LIKE {compiler.process(pattern, **options)})"


@compiles(HasWords, "sqlite")
def _has_words_on_sqlite(element: HasWords, compiler: SQLCompiler, **options: Any) -> str:
    _, text, wanted = (compiler.process(each, **options) for each in element.clauses)
    return f"relayboard_has_words({text}, {wanted})"


@compiles(HasWords, "postgresql")
def _has_words_on_postgresql(element: HasWords, compiler: SQLCompiler, **options: Any) -> str:
    workspace_id, text, wanted = (compiler.process(each, **options) for each in element.clauses)
    return f"({as_words(workspace_id, text, compiler.dialect)} @@ CAST({wanted} AS tsquery))"


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


@compiles(NameMatch, "sqlite")
def _match_name_on_sqlite(element: NameMatch, compiler: SQLCompiler, **options: Any) -> str:
    # The patterns are for an index that SQLite does not have, and a function there has at most 100 arguments.
    name, prefixes, *_ = element.clauses
    return f"relayboard_name_match({compiler.process(name, **options)}, {compiler.process(prefixes, **options)})"


@compiles(NameMatch, "postgresql")
def _match_name_on_postgresql(element: NameMatch, compiler: SQLCompiler, **options: Any) -> str:
    name, pattern, *parts = element.clauses
    searched = compiler.process(SearchText(name), **options)
    # As PostgreSQL finds it by an index, if there is one (see persistence.migrations.part_indexes).
    has_part = " OR ".join(f"{searched} LIKE {compiler.process(part, **options)}" for part in parts) or "false"
    # A pattern with all letters of Unicode takes ten times as long as LIKE, which leaves few names to it.
    begins = f"CASE WHEN NOT ({has_part}) THEN false ELSE {searched} ~ {compiler.process(pattern, **options)} END"
    return f"(({has_part}) AND {begins})"


def _fold(text: str | None) -> str | None:
    return None if text is None else same_form(text)


def _search(text: str | None) -> str | None:
    return None if text is None else search_form(text)


def join_words(workspace_id: int, text: str) -> str:
    """The words of a text and the mark of its workspace, as the index of SQLite takes them."""
    return " ".join([f"{OF_WORKSPACE}{workspace_id}", *dict.fromkeys(indexed_words(text))])


def _has_words(text: str, wanted: str) -> bool:
    words, beginnings = _read_wanted(wanted)
    found = set(indexed_words(text))
    return words <= found and all(any(word.startswith(begin) for word in found) for begin in beginnings)


@lru_cache(maxsize=100)
def _read_wanted(wanted: str) -> tuple[frozenset[str], list[str]]:
    words, beginnings = json.loads(wanted)
    return frozenset(words), beginnings


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


def _match_name(name: str | None, prefixes: str) -> bool | None:
    from flows.queries.evaluation import matches_name  # noqa: PLC0415  # see above

    return None if name is None else matches_name(name, json.loads(prefixes))


_HEBREW = r"\p{WB=Hebrew_Letter}"
_LETTER = rf"\p{{WB=ALetter}}{_HEBREW}"
_JOINING = rf"{_LETTER}\p{{WB=Numeric}}\p{{WB=ExtendNumLet}}"
_INVISIBLE = r"\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}"
_WITHIN_WORDS = r"\p{WB=MidLetter}\p{WB=MidNumLet}\p{WB=Single_Quote}"
_WITHIN_NUMBERS = r"\p{WB=MidNum}\p{WB=MidNumLet}\p{WB=Single_Quote}"
_SPECIAL = frozenset("\\]^-[")
_LAST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


def make_name_pattern(prefixes: Sequence[str]) -> str:
    """A regular expression that finds a word beginning with one of the prefixes, both as searches see them. In scripts
    without spaces nobody knows where words begin: there each place counts.
    """
    return "|".join(f"{_before(prefix[0])}{_escape(prefix)}" for prefix in prefixes)


def _before(first: str) -> str:
    """Lookbehinds for everything that would join a word's first character to the characters before it."""
    if _belongs(first, WITHOUT_SPACES):
        return ""
    if _belongs(first, _LETTER):
        is_hebrew = _belongs(first, _HEBREW)
        return (
            _not_after(_JOINING) + _not_after(_LETTER, _WITHIN_WORDS) + (_not_after(_HEBREW, '"') if is_hebrew else "")
        )
    if _belongs(first, r"\p{WB=Numeric}"):
        return _not_after(_JOINING) + _not_after(r"\p{WB=Numeric}", _WITHIN_NUMBERS)
    if _belongs(first, r"\p{WB=ExtendNumLet}"):
        return _not_after(_JOINING + r"\p{WB=Katakana}")
    return ""


def _not_after(*classes: str) -> str:
    return f"(?<!{''.join(f'[{_spell(one)}][{_spell(_INVISIBLE)}]*' for one in classes)})"


def _belongs(character: str, properties: str) -> bool:
    return regex.match(f"[{properties}]", character) is not None


@cache
def _spell(properties: str) -> str:
    """The characters with one of these properties, as ranges within brackets."""
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
