"""Splits one expression into tokens (flow format, expression grammar)."""

from dataclasses import dataclass
from enum import Enum

import regex

from flows.expressions.scanner import find_text_end

_SPACE = regex.compile(r"\s*")
_WORD_OR_SYMBOL = regex.compile(
    r"(?P<name>[\p{L}_][\p{L}\p{Nd}_]*)|(?P<decimal>[0-9]+\.[0-9]+)|(?P<integer>[0-9]+)"
    r"|(?P<symbol>=>|!=|<=|>=|[()\[\],.=<>+\-*/^&])"
)
_KEYWORDS = frozenset(("true", "false", "null"))


class LexemeKind(Enum):
    """The kinds of tokens in an expression."""

    NAME = "name"
    KEYWORD = "keyword"
    INTEGER = "integer"
    DECIMAL = "decimal"
    TEXT = "text"
    SYMBOL = "symbol"
    UNKNOWN = "unknown"
    END = "end"


@dataclass(frozen=True, slots=True)
class Lexeme:
    """One token of an expression as written, and the index of its first character."""

    kind: LexemeKind
    text: str
    position: int


def split_expression(expression: str) -> list[Lexeme]:
    """All tokens of an expression, followed by an END; characters that begin no token become UNKNOWN."""
    lexemes: list[Lexeme] = []
    position = _skip_space(expression, 0)
    while position < len(expression):
        lexeme = _read_lexeme(expression, position)
        lexemes.append(lexeme)
        position = _skip_space(expression, position + len(lexeme.text))
    lexemes.append(Lexeme(LexemeKind.END, "", len(expression)))
    return lexemes


def _skip_space(expression: str, position: int) -> int:
    found = _SPACE.match(expression, position)
    return int(found.end()) if found else position


def _read_lexeme(expression: str, position: int) -> Lexeme:
    if expression[position] == '"':
        end = find_text_end(expression, position)
        if end is not None:
            return Lexeme(LexemeKind.TEXT, expression[position:end], position)
    found = _WORD_OR_SYMBOL.match(expression, position)
    if not found:
        return Lexeme(LexemeKind.UNKNOWN, expression[position], position)
    kind = LexemeKind(found.lastgroup)
    if kind is LexemeKind.NAME and found[0].lower() in _KEYWORDS:
        kind = LexemeKind.KEYWORD
    return Lexeme(kind, found[0], position)
