"""Splits a template into literal text and expressions (flow format, templates).

The expressions are only delimited here, not parsed: `@name.part` gives an identifier, `@( ... )` an expression.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum

import regex

# The context roots of a running flow; an `@word` with any other first name stays literal text.
CONTEXT_ROOTS = frozenset(
    {
        *("contact", "fields", "urns", "results", "input", "run", "parent", "child", "trigger", "resume", "node"),
        *("globals", "webhook", "ticket", "locals", "legacy_extra"),
    }
)

AT_SIGN = "@"
"""Texts without it have no expression."""
_LITERAL = regex.compile(r"[^@]+")
_PATH = regex.compile(r"[\p{L}_][\p{L}\p{Nd}_]*(?:\.[\p{L}\p{Nd}_]+)*")
_PARENTHESIS_OR_QUOTE = regex.compile(r'[()"]')


class TokenKind(Enum):
    """The kind of a piece of a template."""

    BODY = "body"
    IDENTIFIER = "identifier"
    EXPRESSION = "expression"


@dataclass(frozen=True, slots=True)
class TemplateToken:
    """One piece of a template.

    `text` is the literal text with `@@` read as `@`, or the expression without its `@` and parentheses; `source` is
    the piece exactly as written, so that the sources of all tokens joined give the template.
    """

    kind: TokenKind
    text: str
    source: str


def scan_template(template: str, roots: Collection[str] | None = None) -> Iterator[TemplateToken]:
    """Yields the pieces of a template in order; `roots` are the lower-cased first names that make an identifier.

    Without `roots` every name after an `@` makes an identifier. Neighboring pieces may both be literal.
    """
    position = 0
    while position < len(template):
        token = _scan_literal(template, position) or _scan_at_sign(template, position, roots)
        yield token
        position += len(token.source)


def has_expressions(template: str, roots: Collection[str] | None = None) -> bool:
    """Whether a template contains expressions."""
    return any(token.kind is not TokenKind.BODY for token in scan_template(template, roots))


def find_text_end(text: str, start: int) -> int | None:
    """The end of the text literal that opens at `start` (after its closing quote), None if it does not end.

    A backslash escapes the next character. If that leaves no closing quote, the last quote after a
    backslash closes the literal, so that a single backslash can be written as "\\".
    """
    position, fallback = start + 1, None
    while position < len(text):
        character = text[position]
        if character == '"':
            return position + 1
        if character == "\\" and position + 1 < len(text):
            position += 1
            if text[position] == '"':
                fallback = position + 1
        position += 1
    return fallback


def _scan_literal(template: str, position: int) -> TemplateToken | None:
    found = _LITERAL.match(template, position)
    return TemplateToken(TokenKind.BODY, found[0], found[0]) if found else None


def _scan_at_sign(template: str, position: int, roots: Collection[str] | None) -> TemplateToken:
    following = template[position + 1 : position + 2]
    if following == "@":
        return TemplateToken(TokenKind.BODY, "@", "@@")
    if following == "(":
        return _scan_parentheses(template, position)
    found = _PATH.match(template, position + 1)
    if not found:
        return TemplateToken(TokenKind.BODY, "@", "@")
    path, source = found[0], "@" + found[0]
    if roots is not None and path.partition(".")[0].lower() not in roots:
        return TemplateToken(TokenKind.BODY, source, source)
    return TemplateToken(TokenKind.IDENTIFIER, path, source)


def _scan_parentheses(template: str, position: int) -> TemplateToken:
    depth, cursor = 0, position + 1
    while found := _PARENTHESIS_OR_QUOTE.search(template, cursor):
        cursor = found.end()
        if found[0] == "(":
            depth += 1
        elif found[0] == ")":
            depth -= 1
            if depth == 0:
                source = template[position:cursor]
                return TemplateToken(TokenKind.EXPRESSION, source[2:-1], source)
        else:
            end = find_text_end(template, found.start())
            if end is None:
                break
            cursor = end
    rest = template[position:]
    return TemplateToken(TokenKind.BODY, rest, rest)
