"""Reads the text of a query into a tree (flow format, contact queries).

Splits the text of a query into tokens (flow format, contact queries, grammar).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import cast

import regex

from flows.environment import SYSTEM_CLOCK, Clock, Environment
from flows.queries.evaluation import name_prefixes
from flows.queries.implicit import read_value, read_whole_query
from flows.queries.resolver import ATTRIBUTES, PropertyKind, Resolver, ValueType
from flows.queries.tree import (
    Combination,
    Condition,
    Connective,
    Operator,
    Query,
    QueryError,
    make_complexity_error,
    make_syntax_error,
    simplify,
)
from flows.queries.validation import validate_condition
from flows.typed import plain
from flows.urns import SCHEMES

QUERY_LENGTH_MAX = 10_000
CONDITIONS_MAX = 250
NESTING_MAX = 100

_SPACES = regex.compile(r"\s+")
_SYMBOL = regex.compile(r"!=|>=|<=|[=~><]")

# A database cannot compare with NUL and unpaired surrogates.
_QUOTED = regex.compile(r'"(?:[^"\\\x00\ud800-\udfff]|\\[^\x00\ud800-\udfff])*+"')
_BARE = regex.compile(r"[\p{L}\p{M}\p{Nd}_.\-+/'@:]+")
_PROPERTY = regex.compile(r"(?:[A-Za-z_]+\.)?[A-Za-z0-9_]+")
_ESCAPE = regex.compile(r"\\(.)", regex.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


class TokenKind(Enum):
    """What a token can be; a property can also stand for a bare value."""

    OPEN = auto()
    CLOSE = auto()
    COMPARATOR = auto()
    AND = auto()
    OR = auto()
    QUOTED = auto()
    PROPERTY = auto()
    BARE = auto()
    END = auto()


_VALUES = frozenset((TokenKind.QUOTED, TokenKind.PROPERTY, TokenKind.BARE))
_STARTS = _VALUES | {TokenKind.OPEN}


def parse_query(
    text: str, environment: Environment | None = None, resolver: Resolver | None = None, *, clock: Clock = SYSTEM_CLOCK
) -> Query:
    """Reads a query; `str()` of the result is its canonical form.

    Without a resolver nothing is checked against a workspace, and unknown properties count as fields. The clock only
    decides the century of dates with two-digit years. Raises QueryError with a `code` and `extra`.

    >>> str(parse_query("age > 18 and (gender = F or bob)"))
    'fields.age > 18 AND (fields.gender = "F" OR name ~ "bob")'
    """
    if len(text) > QUERY_LENGTH_MAX:
        raise make_complexity_error()
    text = read_outside_quotes(text, plain)
    environment = environment or Environment()
    query = read_whole_query(environment, text) or _Parser(scan(text), environment, resolver, clock).parse()
    simplified = simplify(query)
    assert simplified is not None, "the grammar has no query without conditions"
    return simplified


@dataclass(frozen=True, slots=True)
class Token:
    """A token with its meaning: quoted text without quotes, comparators as symbols, everything else as written.
    `position` counts the characters before it.
    """

    kind: TokenKind
    text: str
    position: int = field(default=0, compare=False)


class _Parser:
    def __init__(self, tokens: list[Token], environment: Environment, resolver: Resolver | None, clock: Clock) -> None:
        self._tokens = tokens
        self._position = 0
        self._last = self._begun = tokens[0]
        self._nesting = 0
        self._conditions = 0
        self._environment = environment
        self._resolver = resolver
        self._clock = clock

    def parse(self) -> Query:
        try:
            query = self._parse_any()
            if self._peek().kind is not TokenKind.END:
                raise make_syntax_error(f"unexpected {self._take().text!r} in query")
        except QueryError as error:
            error.position = self._last.position if error.code == "syntax" else self._begun.position
            raise
        return query

    def _parse_any(self) -> Query:
        children = [self._parse_all()]
        while self._peek().kind is TokenKind.OR:
            self._take()
            children.append(self._parse_all())
        return _combine("or", children)

    def _parse_all(self) -> Query:
        # Adjacent conditions bind a little weaker than those with AND between them, but mean the same.
        children = [self._parse_single()]
        while self._peek().kind is TokenKind.AND or self._peek().kind in _STARTS:
            if self._peek().kind is TokenKind.AND:
                self._take()
            children.append(self._parse_single())
        return _combine("and", children)

    def _parse_single(self) -> Query:
        token = self._begun = self._take()
        if token.kind is TokenKind.OPEN:
            return self._parse_nested()
        if token.kind not in _VALUES:
            raise make_syntax_error(f"unexpected {token.text!r} in query")
        self._count(1)
        if token.kind is TokenKind.PROPERTY and self._peek().kind is TokenKind.COMPARATOR:
            return self._parse_condition(token.text)
        return self._check(read_value(self._environment, token.text))

    def _parse_nested(self) -> Query:
        self._nesting += 1
        if self._nesting > NESTING_MAX:
            raise make_complexity_error()
        query = self._parse_any()
        if self._take().kind is not TokenKind.CLOSE:
            raise make_syntax_error("missing ')' in query")
        self._nesting -= 1
        return query

    def _parse_condition(self, name: str) -> Condition:
        operator = cast(Operator, self._take().text)
        value = self._take()
        if value.kind not in _VALUES:
            raise make_syntax_error(f"expected a value after {operator!r} in query")
        kind, key, value_type = resolve_property(name, self._resolver)
        return self._check(Condition(kind, key, operator, value.text, value_type))

    def _check(self, condition: Condition) -> Condition:
        validate_condition(condition, self._environment, self._resolver, self._clock)
        if condition.kind == "attribute" and condition.key == "name" and condition.operator == "~":
            # A name that has one of many words is looked for as by many conditions.
            self._count(len(name_prefixes(condition.value)) - 1)
        return condition

    def _count(self, conditions: int) -> None:
        self._conditions += conditions
        if self._conditions > CONDITIONS_MAX:
            raise make_complexity_error()

    def _peek(self) -> Token:
        return self._tokens[self._position]

    def _take(self) -> Token:
        token = self._last = self._tokens[self._position]
        if token.kind is not TokenKind.END:
            self._position += 1
        return token


def resolve_property(name: str, resolver: Resolver | None) -> tuple[PropertyKind, str, ValueType]:
    """The kind, key and type of a property: an attribute, otherwise a scheme, otherwise a field, unless a prefix
    decides. Raises QueryError for unknown names.
    """
    prefix, _, key = name.lower().rpartition(".")
    if prefix not in ("", "fields", "urns"):
        raise QueryError("unknown_property_type", f"unknown property type '{prefix}'", {"type": prefix})
    if prefix == "" and key in ATTRIBUTES:
        return "attribute", key, ATTRIBUTES[key]
    if prefix in ("", "urns") and key in SCHEMES:
        return "scheme", key, "text"
    if prefix != "urns":
        if resolver is None:
            return "field", key, "unknown"
        field = resolver.find_field(key)
        if field:
            return "field", key, field.type
    raise QueryError("unknown_property", f"can't resolve '{key}' to attribute, scheme or field", {"property": key})


_WORDS = {
    "and": Token(TokenKind.AND, "and"),
    "or": Token(TokenKind.OR, "or"),
    "has": Token(TokenKind.COMPARATOR, "~"),
    "is": Token(TokenKind.COMPARATOR, "="),
}
_BRACKETS = {"(": TokenKind.OPEN, ")": TokenKind.CLOSE}


def read_outside_quotes(text: str, read: Callable[[str], str]) -> str:
    """A query whose parts outside of quotes are read so; what is quoted stays as typed."""
    parts, begin = [], 0
    for quoted in _QUOTED.finditer(text):
        parts += [read(text[begin : quoted.start()]), quoted.group()]
        begin = quoted.end()
    return "".join([*parts, read(text[begin:])])


def scan(text: str) -> list[Token]:
    """All tokens of a query, the last one is its end. Raises QueryError for characters that are not allowed."""
    tokens, position = [], 0
    while position < len(text):
        spaces = _SPACES.match(text, position)
        if spaces:
            position = spaces.end()
            continue
        token, end = _scan_token(text, position)
        tokens.append(replace(token, position=position))
        position = end
    return [*tokens, Token(TokenKind.END, "end of query", len(text))]


def _combine(op: Connective, children: list[Query]) -> Query:
    return children[0] if len(children) == 1 else Combination(op, tuple(children))


def _scan_token(text: str, position: int) -> tuple[Token, int]:
    character = text[position]
    if character in _BRACKETS:
        return Token(_BRACKETS[character], character), position + 1
    if symbol := _SYMBOL.match(text, position):
        return Token(TokenKind.COMPARATOR, symbol.group()), symbol.end()
    if quoted := _QUOTED.match(text, position):
        inner = _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), quoted.group()[1:-1])
        return Token(TokenKind.QUOTED, inner), quoted.end()
    if bare := _BARE.match(text, position):
        return _classify_bare(bare.group()), bare.end()
    error = make_syntax_error(f"unexpected {character!r} in query")
    error.position = position
    raise error


def _classify_bare(text: str) -> Token:
    word = _WORDS.get(text.lower())
    if word:
        return word
    return Token(TokenKind.PROPERTY if _PROPERTY.fullmatch(text) else TokenKind.BARE, text)
