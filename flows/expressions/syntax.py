"""The parsed form of expressions, and its printing (flow format, expression grammar). Trees may be as deep as an
expression is long, so nothing here is recursive: printing, walking and rewriting have their own stacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import TypeAlias


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """A node of an expression; `str()` gives its canonical text."""

    def __str__(self) -> str:
        return print_expression(self)

    @property
    def children(self) -> tuple[Expression, ...]:
        """The nodes directly below, in the order in which they are written."""
        return ()

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """The same node with other children (as many as before)."""
        return self

    def pieces(self) -> tuple[Piece, ...]:
        """The canonical text as fixed parts and the nodes between them."""
        raise NotImplementedError


Piece: TypeAlias = str | Expression


@dataclass(frozen=True, slots=True, eq=False)
class TextLiteral(Expression):
    """A text in double quotes; `value` is its content."""

    value: str

    def pieces(self) -> tuple[Piece, ...]:
        return (quote_text(self.value),)


@dataclass(frozen=True, slots=True, eq=False)
class NumberLiteral(Expression):
    """Digits, maybe with a dot and more digits, as written."""

    digits: str

    def pieces(self) -> tuple[Piece, ...]:
        whole, _, fraction = self.digits.partition(".")
        fraction = fraction.rstrip("0")
        return ((whole.lstrip("0") or "0") + (f".{fraction}" if fraction else ""),)

    def to_decimal(self) -> Decimal | None:
        """The number, None for digits that no decimal can represent."""
        try:
            return Decimal(self.digits)
        except InvalidOperation:
            return None


@dataclass(frozen=True, slots=True, eq=False)
class BooleanLiteral(Expression):
    """`true` or `false`."""

    value: bool

    def pieces(self) -> tuple[Piece, ...]:
        return ("true" if self.value else "false",)


@dataclass(frozen=True, slots=True, eq=False)
class NullLiteral(Expression):
    """`null`."""

    def pieces(self) -> tuple[Piece, ...]:
        return ("null",)


@dataclass(frozen=True, slots=True, eq=False)
class ContextReference(Expression):
    """A name: of a parameter in scope, of a context property or of a function; kept in lower case."""

    name: str

    def pieces(self) -> tuple[Piece, ...]:
        return (self.name,)


@dataclass(frozen=True, slots=True, eq=False)
class DotLookup(Expression):
    """`container.name`; the name (or array index) is kept as written."""

    container: Expression
    name: str

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.container,)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, container=children[0])

    def pieces(self) -> tuple[Piece, ...]:
        return (self.container, ".", self.name)


@dataclass(frozen=True, slots=True, eq=False)
class BracketLookup(Expression):
    """`container[key]`."""

    container: Expression
    key: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.container, self.key)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, container=children[0], key=children[1])

    def pieces(self) -> tuple[Piece, ...]:
        return (self.container, "[", self.key, "]")


@dataclass(frozen=True, slots=True, eq=False)
class Call(Expression):
    """`function(argument, ...)`."""

    function: Expression
    arguments: tuple[Expression, ...]

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.function, *self.arguments)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, function=children[0], arguments=children[1:])

    def pieces(self) -> tuple[Piece, ...]:
        pieces: list[Piece] = [self.function, "("]
        for index, argument in enumerate(self.arguments):
            pieces += [", ", argument] if index else [argument]
        return (*pieces, ")")


@dataclass(frozen=True, slots=True, eq=False)
class AnonymousFunction(Expression):
    """`(name, ...) => body`; parameter names are in lower case."""

    parameters: tuple[str, ...]
    body: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.body,)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, body=children[0])

    def pieces(self) -> tuple[Piece, ...]:
        return (f"({', '.join(self.parameters)}) => ", self.body)


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Expression):
    """Two operands around one of `& = != < <= > >= + - * / ^`."""

    operator: str
    left: Expression
    right: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.left, self.right)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, left=children[0], right=children[1])

    def pieces(self) -> tuple[Piece, ...]:
        return (self.left, f" {self.operator} ", self.right)


@dataclass(frozen=True, slots=True, eq=False)
class Negation(Expression):
    """`-operand`."""

    operand: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, operand=children[0])

    def pieces(self) -> tuple[Piece, ...]:
        return ("-", self.operand)


@dataclass(frozen=True, slots=True, eq=False)
class Group(Expression):
    """An expression in parentheses, kept so that printing needs no rules of precedence."""

    inner: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.inner,)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, inner=children[0])

    def pieces(self) -> tuple[Piece, ...]:
        return ("(", self.inner, ")")


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def quote_text(text: str) -> str:
    """A text as a literal; characters that cannot be printed are escaped by number."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_escape(character) for character in text) + '"'


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def print_expression(expression: Expression) -> str:
    """The canonical text: one space around operators and after commas, names in lower case, groups as written."""
    written: list[str] = []
    pending: list[Piece] = [expression]
    while pending:
        piece = pending.pop()
        if isinstance(piece, str):
            written.append(piece)
        else:
            pending.extend(reversed(piece.pieces()))
    return "".join(written)


def walk_expression(expression: Expression) -> Iterator[tuple[Expression, frozenset[str]]]:
    """Every node after its children, with the parameter names of the anonymous functions around it."""
    nothing: frozenset[str] = frozenset()
    pending = [(expression, nothing, False)]
    while pending:
        node, bound, is_leaving = pending.pop()
        children = () if is_leaving else node.children
        if not children:
            yield node, bound
            continue
        pending.append((node, bound, True))
        within = _bind(node, bound)
        pending.extend((child, within, False) for child in reversed(children))


def rewrite_expression(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Rebuilds an expression bottom-up: `change` gets every node with its changed children and returns the new node.
    Names bound by an anonymous function are not references into the context and are not passed. If nothing changes the
    same object is returned.
    """
    results: list[Expression] = []
    for node, bound in walk_expression(expression):
        count = len(node.children)
        children = tuple(results[len(results) - count :])
        del results[len(results) - count :]
        if any(new is not old for new, old in zip(children, node.children, strict=True)):
            node = node.with_children(children)
        if not (isinstance(node, ContextReference) and node.name in bound):
            node = change(node)
        results.append(node)
    return results[0]


def _bind(node: Expression, bound: frozenset[str]) -> frozenset[str]:
    return bound | frozenset(node.parameters) if isinstance(node, AnonymousFunction) else bound
