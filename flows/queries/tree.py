"""Parsed queries: conditions, and combinations of them. The text of a tree is its canonical form.

The only error of queries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from flows.queries.resolver import PREFIXES, PropertyKind, ValueType

Operator = Literal["=", "!=", "~", ">", ">=", "<", "<="]
Connective = Literal["and", "or"]

_PLAIN_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"})


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of a property with a value as written. `value_type` is the type of the property; `unknown` for
    fields of queries that were parsed without a resolver. An empty value with `=` or `!=` tests whether the property is
    not set or set.
    """

    kind: PropertyKind
    key: str
    operator: Operator
    value: str
    value_type: ValueType = "text"

    @property
    def is_set_check(self) -> bool:
        """Whether this tests only if there is a value."""
        return self.value == "" and self.operator in ("=", "!=")

    @property
    def is_address(self) -> bool:
        """Whether this tests URNs, of one scheme or of any."""
        return self.kind == "scheme" or (self.kind == "attribute" and self.key == "urn")

    def __str__(self) -> str:
        value = self.value if _PLAIN_NUMBER.fullmatch(self.value) else f'"{self.value.translate(_ESCAPES)}"'
        return f"{PREFIXES[self.kind]}{self.key} {self.operator} {value}"


@dataclass(frozen=True, slots=True)
class Combination:
    """Conditions and combinations of which all (`and`) or any (`or`) must hold."""

    op: Connective
    children: tuple[Query, ...]

    def __str__(self) -> str:
        return f" {self.op.upper()} ".join(
            f"({child})" if isinstance(child, Combination) else str(child) for child in self.children
        )


Query = Condition | Combination


def simplify(query: Query) -> Query | None:
    """Merges combinations into those of the same kind around them; None if no condition is left."""
    if isinstance(query, Condition):
        return query
    children: list[Query] = []
    for child in map(simplify, query.children):
        if isinstance(child, Combination) and child.op == query.op:
            children.extend(child.children)
        elif child is not None:
            children.append(child)
    if len(children) > 1:
        return Combination(query.op, tuple(children))
    return children[0] if children else None


def render(query: Query | None) -> str:
    """The canonical text of a query; empty for one without conditions."""
    return "" if query is None else str(query)


def walk_conditions(query: Query) -> Iterator[Condition]:
    """All conditions of a query, from left to right."""
    if isinstance(query, Condition):
        yield query
        return
    for child in query.children:
        yield from walk_conditions(child)


class QueryError(ValueError):
    """A query is invalid: `code` for programs, a message for people, and the parts concerned. `position` counts the
    characters of the query before the part at which reading stopped, if that is known.
    """

    def __init__(self, code: str, message: str, extra: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.extra = extra or {}
        self.position: int | None = None


def make_syntax_error(message: str) -> QueryError:
    """The text does not follow the grammar."""
    return QueryError("syntax", message)


def make_complexity_error() -> QueryError:
    """The query exceeds a limit; the message does not say which, so that nobody can probe for it."""
    return QueryError("too_complex", "query is too complex")
