"""Reads one expression into its tree by operator precedence (flow format, expression grammar).

Operators and open brackets wait on an explicit stack, so that no input can exhaust the stack of the interpreter.

Splits one expression into tokens (flow format, expression grammar).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache, partial
from typing import NoReturn

import regex

from flows.expressions.scanner import find_text_end
from flows.expressions.syntax import (
    AnonymousFunction,
    Binary,
    BooleanLiteral,
    BracketLookup,
    Call,
    ContextReference,
    DotLookup,
    Expression,
    Group,
    Negation,
    NullLiteral,
    NumberLiteral,
    TextLiteral,
)

NESTING_LIMIT = 100
ANONYMOUS_FUNCTION_LIMIT = 500
SHOWN_CHARACTERS = 10
CACHED_EXPRESSIONS = 4096

# Longer expressions are parsed each time: caching them would cost more memory than the time is worth.
CACHED_LENGTH = 2048

_OPERATORS = (("&",), ("=", "!="), ("<", "<=", ">", ">="), ("+", "-"), ("*", "/"), ("^",))
_PRECEDENCES = {symbol: level for level, symbols in enumerate(_OPERATORS, 1) for symbol in symbols}
_NEGATION_PRECEDENCE = 7
_ESCAPE = re.compile(r"\\(?:([\"ntr\\])|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|.|$)", re.DOTALL)
_CHARACTERS = {'"': '"', "n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
_LAST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)

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


_LITERALS = frozenset((LexemeKind.TEXT, LexemeKind.INTEGER, LexemeKind.DECIMAL, LexemeKind.KEYWORD))


class ExpressionSyntaxError(ValueError):
    """An expression does not follow the grammar; the message is shown to people."""


def parse_expression(expression: str) -> Expression:
    """The tree of an expression; raises ExpressionSyntaxError. Trees of short expressions are cached."""
    if len(expression) > CACHED_LENGTH:
        return _parse(expression)
    return _parse_cached(expression)


class _State(Enum):
    OPERAND = "an operand must follow"
    ATOM = "lookups and calls may follow"
    JOINT = "only operators and closing marks may follow"
    END = "everything is read"


@dataclass(slots=True)
class _Waiting:
    """An operator, bracket or anonymous function that still needs operands; its node has `arity` of them."""

    build: Callable[..., Expression]
    arity: int
    precedence: int = -1
    closing: str = ""
    takes_arguments: bool = False


def read_text_literal(literal: str) -> str:
    """The value of a text literal with its quotes; if any escape is invalid, the characters are used unchanged."""
    inner = literal[1:-1]
    if "\\" not in inner:
        return inner
    try:
        return _ESCAPE.sub(_read_escape, inner)
    except ValueError:
        return inner


@dataclass(frozen=True, slots=True)
class Lexeme:
    """One token of an expression as written, and the index of its first character."""

    kind: LexemeKind
    text: str
    position: int


def _read_escape(found: re.Match[str]) -> str:
    if found[1]:
        return _CHARACTERS[found[1]]
    code = int(found[2] or found[3] or "", 16)
    # Few systems can store texts with NUL, so no template may produce one.
    if not 0 < code <= _LAST_CODE_POINT or code in _SURROGATES:
        raise ValueError(f"no character has the code {code}")
    return chr(code)


@dataclass(slots=True)
class _Reader:
    expression: str
    lexemes: list[Lexeme]
    index: int = 0
    anonymous_functions: int = 0
    waiting: list[_Waiting] = field(default_factory=list)
    operands: list[Expression] = field(default_factory=list)

    def read(self) -> Expression:
        state = _State.OPERAND
        while state is not _State.END:
            if state is _State.OPERAND:
                state = self._read_operand()
            elif state is _State.ATOM:
                state = self._read_lookup()
            else:
                state = self._read_joint()
        return self.operands[0]

    def _take(self) -> Lexeme:
        lexeme = self.lexemes[self.index]
        self.index += 1
        return lexeme

    def _is_next(self, symbol: str) -> bool:
        lexeme = self.lexemes[self.index]
        return lexeme.kind is LexemeKind.SYMBOL and lexeme.text == symbol

    def _fail(self, lexeme: Lexeme) -> NoReturn:
        line = self.expression[lexeme.position :].partition("\n")[0]
        raise ExpressionSyntaxError(f"syntax error at {line[:SHOWN_CHARACTERS]}")

    def _read_operand(self) -> _State:
        lexeme = self._take()
        if lexeme.kind is LexemeKind.NAME:
            self.operands.append(ContextReference(lexeme.text.lower()))
            return _State.ATOM
        if lexeme.kind in _LITERALS:
            self.operands.append(_read_literal(lexeme))
            return _State.JOINT
        if lexeme.kind is LexemeKind.SYMBOL and lexeme.text == "-":
            self.waiting.append(_Waiting(Negation, 1, precedence=_NEGATION_PRECEDENCE))
        elif lexeme.kind is LexemeKind.SYMBOL and lexeme.text == "(":
            parameters = self._read_parameters()
            if parameters:
                self._open_anonymous_function(parameters)
            else:
                self.waiting.append(_Waiting(Group, 1, closing=")"))
        else:
            self._fail(lexeme)
        return _State.OPERAND

    def _read_parameters(self) -> tuple[str, ...]:
        names: list[str] = []
        cursor = self.index
        while self.lexemes[cursor].kind is LexemeKind.NAME:
            names.append(self.lexemes[cursor].text.lower())
            if self.lexemes[cursor + 1].text != ",":
                break
            cursor += 2
        following = [lexeme.text for lexeme in self.lexemes[cursor + 1 : cursor + 3]]
        if not names or following != [")", "=>"]:
            return ()
        self.index = cursor + 3
        return tuple(names)

    def _open_anonymous_function(self, parameters: tuple[str, ...]) -> None:
        self.anonymous_functions += 1
        if self.anonymous_functions > ANONYMOUS_FUNCTION_LIMIT:
            raise ExpressionSyntaxError("expression nesting too deep")
        self.waiting.append(_Waiting(lambda body: AnonymousFunction(parameters, body), 1, precedence=0))

    def _read_lookup(self) -> _State:
        if self._is_next("."):
            self._take()
            name = self._take()
            if name.kind not in (LexemeKind.NAME, LexemeKind.INTEGER):
                self._fail(name)
            self.operands.append(DotLookup(self.operands.pop(), name.text))
            return _State.ATOM
        if self._is_next("["):
            self._take()
            self.waiting.append(_Waiting(BracketLookup, 2, closing="]"))
            return _State.OPERAND
        if not self._is_next("("):
            return _State.JOINT
        self._take()
        if self._is_next(")"):
            self._take()
            self.operands.append(Call(self.operands.pop(), ()))
            return _State.ATOM
        self.waiting.append(_Waiting(_build_call, 2, closing=")", takes_arguments=True))
        return _State.OPERAND

    def _read_joint(self) -> _State:
        lexeme = self._take()
        if lexeme.kind is LexemeKind.END:
            self._finish_operators(0)
            if self.waiting:
                self._fail(lexeme)
            return _State.END
        if lexeme.kind is not LexemeKind.SYMBOL:
            self._fail(lexeme)
        if lexeme.text in _PRECEDENCES:
            precedence = _PRECEDENCES[lexeme.text]
            self._finish_operators(precedence)
            self.waiting.append(_Waiting(partial(Binary, lexeme.text), 2, precedence=precedence))
            return _State.OPERAND
        self._finish_operators(0)
        bracket = self.waiting[-1] if self.waiting else None
        if bracket and lexeme.text == "," and bracket.takes_arguments:
            bracket.arity += 1
            return _State.OPERAND
        if not bracket or lexeme.text != bracket.closing:
            self._fail(lexeme)
        self._finish(self.waiting.pop())
        return _State.ATOM

    def _finish_operators(self, precedence: int) -> None:
        while self.waiting and self.waiting[-1].precedence >= precedence:
            self._finish(self.waiting.pop())

    def _finish(self, waiting: _Waiting) -> None:
        operands = self.operands[-waiting.arity :]
        del self.operands[-waiting.arity :]
        self.operands.append(waiting.build(*operands))


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


@lru_cache(maxsize=CACHED_EXPRESSIONS)
def _parse_cached(expression: str) -> Expression:
    return _parse(expression)


def _parse(expression: str) -> Expression:
    lexemes = split_expression(expression)
    _check_nesting(lexemes)
    return _Reader(expression, lexemes).read()


def _check_nesting(lexemes: list[Lexeme]) -> None:
    depth = 0
    for lexeme in lexemes:
        if lexeme.kind is LexemeKind.SYMBOL:
            depth += (lexeme.text in "([") - (lexeme.text in ")]")
            if depth > NESTING_LIMIT:
                raise ExpressionSyntaxError("expression nesting too deep")


def _build_call(function: Expression, *arguments: Expression) -> Expression:
    return Call(function, arguments)


def _read_literal(lexeme: Lexeme) -> Expression:
    if lexeme.kind is LexemeKind.TEXT:
        return TextLiteral(read_text_literal(lexeme.text))
    if lexeme.kind is LexemeKind.KEYWORD:
        word = lexeme.text.lower()
        return NullLiteral() if word == "null" else BooleanLiteral(word == "true")
    return NumberLiteral(lexeme.text)


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
