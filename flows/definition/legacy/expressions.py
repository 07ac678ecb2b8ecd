"""Reads one expression of the old language and writes it in the new one (flow format, versions and migrations).

The old grammar: numbers, texts in double quotes (a quote within is doubled), TRUE, FALSE, dotted names, calls, and the
operators of the new language with `<>` for not equal. Open brackets and operators wait on a stack, so that no input
can exhaust the stack of the interpreter.
"""

from dataclasses import dataclass, field
from typing import NoReturn

import regex

from flows.definition.legacy.functions import migrate_call
from flows.definition.legacy.operands import (
    Kind,
    LegacyExpressionError,
    Level,
    Operand,
    write_binary,
    write_call,
    write_negation,
)
from flows.definition.legacy.paths import migrate_path
from flows.definition.legacy.sums import write_sum
from flows.expressions.parser import NESTING_LIMIT, read_text_literal
from flows.expressions.scanner import find_text_end
from flows.expressions.syntax import quote_text

_WORD = regex.compile(
    r"[ \t\r\n]*(?:(?P<number>[0-9]+(?:\.[0-9]+)?)|(?P<text>\"[^\"]*+(?:\"\"[^\"]*+)*+\")"
    r"|(?P<name>\p{L}[\p{L}\p{Nd}_.]*)|(?P<symbol><>|<=|>=|[,()+\-*/^=<>&])|(?P<end>\Z)|(?P<unknown>.))",
    regex.DOTALL,
)
_LEVELS = {
    "&": Level.CONCATENATION,
    "=": Level.EQUALITY,
    "<>": Level.EQUALITY,
    **dict.fromkeys(("<", "<=", ">", ">="), Level.COMPARISON),
    "+": Level.SUM,
    "-": Level.SUM,
    "*": Level.PRODUCT,
    "/": Level.PRODUCT,
    "^": Level.POWER,
}
SHOWN_CHARACTERS = 10


def migrate_expression(expression: str, *, raw_dates: bool = False) -> str:
    """An old expression, without its `@` and parentheses, in the new language; raises LegacyExpressionError.

    `raw_dates` keeps days as values instead of making them text in the format of the workspace.
    """
    return _Reader(expression, raw_dates).read().text


@dataclass(slots=True)
class _Operator:
    symbol: str
    level: Level
    is_sign: bool = False


@dataclass(slots=True)
class _Bracket:
    function: str | None
    arguments: list[Operand] = field(default_factory=list)


@dataclass(slots=True)
class _Reader:
    expression: str
    raw_dates: bool
    position: int = 0
    depth: int = 0
    operands: list[Operand] = field(default_factory=list)
    waiting: list[_Operator | _Bracket] = field(default_factory=list)

    def read(self) -> Operand:
        while True:
            self._read_operand()
            if not self._read_joints():
                return self.operands[0]

    def _take(self) -> tuple[str, str]:
        found = _WORD.match(self.expression, self.position)
        if found is None or found.lastgroup is None:
            self._fail(self.position)
        if found.lastgroup == "unknown":
            self._fail(found.start("unknown"))
        self.position = found.end()
        return found.lastgroup, found[found.lastgroup]

    def _fail(self, position: int) -> NoReturn:
        shown = self.expression[position : position + SHOWN_CHARACTERS]
        raise LegacyExpressionError(f"syntax error at {shown}")

    def _read_operand(self) -> None:
        """Reads signs and opening brackets up to an operand or an empty pair of brackets."""
        while True:
            start = self.position
            kind, text = self._take()
            if kind == "symbol" and text == "-":
                self.waiting.append(_Operator("-", Level.NEGATION, is_sign=True))
            elif kind == "symbol" and text == "(":
                self._open(None)
            elif kind == "name" and self._skip("("):
                self._open(text)
                if self._skip(")"):
                    self._close(start)
                    return
            elif kind in ("number", "text", "name"):
                self.operands.append(self._write_operand(kind, text))
                return
            else:
                self._fail(start)

    def _read_joints(self) -> bool:
        """Reads what follows an operand; returns whether another operand must follow."""
        while True:
            start = self.position
            kind, text = self._take()
            if kind == "end":
                self._finish(Level.CONCATENATION)
                if self.waiting:
                    self._fail(start)
                return False
            if kind == "symbol" and text in _LEVELS:
                self._finish(_LEVELS[text])
                self.waiting.append(_Operator(text, _LEVELS[text]))
                return True
            if kind != "symbol" or text == "(":
                self._fail(start)
            self._add_argument(start, needs_call=text == ",")
            if text == ",":
                return True
            self._close(start)

    def _skip(self, symbol: str) -> bool:
        found = _WORD.match(self.expression, self.position)
        if found is None or found["symbol"] != symbol:
            return False
        self.position = found.end()
        return True

    def _open(self, function: str | None) -> None:
        self.depth += 1
        if self.depth > NESTING_LIMIT:
            raise LegacyExpressionError("expression nesting too deep")
        self.waiting.append(_Bracket(function))

    def _add_argument(self, start: int, *, needs_call: bool) -> None:
        self._finish(Level.CONCATENATION)
        bracket = self.waiting[-1] if self.waiting else None
        if not isinstance(bracket, _Bracket) or (needs_call and bracket.function is None):
            self._fail(start)
        bracket.arguments.append(self.operands.pop())

    def _close(self, start: int) -> None:
        bracket = self.waiting.pop()
        if not isinstance(bracket, _Bracket):
            self._fail(start)
        self.depth -= 1
        if bracket.function is None:
            self.operands.append(Operand(f"({bracket.arguments[0].text})"))
        else:
            self.operands.append(migrate_call(bracket.function, bracket.arguments))

    def _finish(self, level: Level) -> None:
        while self.waiting:
            operator = self.waiting[-1]
            if isinstance(operator, _Bracket) or operator.level < level:
                return
            self.waiting.pop()
            right = self.operands.pop()
            if operator.is_sign:
                self.operands.append(write_negation(right))
            else:
                self.operands.append(self._write_binary(operator, self.operands.pop(), right))

    def _write_binary(self, operator: _Operator, left: Operand, right: Operand) -> Operand:
        if operator.level is Level.SUM:
            return write_sum(left, right, is_minus=operator.symbol == "-", raw_dates=self.raw_dates)
        if operator.level is Level.COMPARISON and {left.kind, right.kind} & {Kind.DATE, Kind.DATETIME}:
            # In the new language only numbers have an order.
            left, right = write_call("epoch", [left.text]), write_call("epoch", [right.text])
        return write_binary("!=" if operator.symbol == "<>" else operator.symbol, operator.level, left, right)

    def _write_operand(self, kind: str, text: str) -> Operand:
        if kind == "number":
            return Operand(text, kind=Kind.UNKNOWN if "." in text else Kind.NUMBER)
        if kind == "text":
            return Operand(_migrate_text_literal(text))
        if text.lower() in ("true", "false"):
            return Operand(text.lower())
        return migrate_path(text, raw_dates=self.raw_dates)


def _migrate_text_literal(literal: str) -> str:
    value = literal[1:-1].replace('""', '"')
    written = '"' + value.replace('"', '\\"') + '"'
    # Patterns are easier to read without doubled backslashes, if those make no difference.
    ends_alone = find_text_end(f'{written}"', 0) == len(written)
    is_same = ends_alone and read_text_literal(written) == value
    return written if is_same else quote_text(value)
