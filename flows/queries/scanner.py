"""Splits the text of a query into tokens (flow format, contact queries, grammar)."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum, auto

import regex

from flows.queries.errors import make_syntax_error


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


@dataclass(frozen=True, slots=True)
class Token:
    """A token with its meaning: quoted text without quotes, comparators as symbols, everything else as written.
    `position` counts the characters before it.
    """

    kind: TokenKind
    text: str
    position: int = field(default=0, compare=False)


_SPACES = regex.compile(r"\s+")
_SYMBOL = regex.compile(r"!=|>=|<=|[=~><]")
# A database cannot compare with NUL and unpaired surrogates.
_QUOTED = regex.compile(r'"(?:[^"\\\x00\ud800-\udfff]|\\[^\x00\ud800-\udfff])*+"')
_BARE = regex.compile(r"[\p{L}\p{M}\p{Nd}_.\-+/'@:]+")
_PROPERTY = regex.compile(r"(?:[A-Za-z_]+\.)?[A-Za-z0-9_]+")
_ESCAPE = regex.compile(r"\\(.)", regex.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
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
