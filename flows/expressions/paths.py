"""Finds which parts of the context a template reads (flow format, inspection)."""

from collections.abc import Collection
from functools import lru_cache

from flows.expressions.parser import ExpressionSyntaxError, parse_expression
from flows.expressions.scanner import TokenKind, scan_template
from flows.expressions.syntax import (
    BracketLookup,
    Call,
    ContextReference,
    DotLookup,
    Expression,
    Group,
    TextLiteral,
    walk_expression,
)

CACHED_EXPRESSIONS = 4096
Path = tuple[str, ...]


def context_paths(template: str, roots: Collection[str] | None = None, longest: int | None = None) -> list[Path]:
    """Every context path in a template, each with all its beginnings, in lower case and in order.

    `@foo.bar` gives `("foo",)` and `("foo", "bar")`; names of parameters of anonymous functions don't count, names of
    functions that are only called don't either. Expressions that cannot be parsed contain no paths. With `longest`,
    longer paths are left out, except their beginnings.
    """
    paths: list[Path] = []
    for token in scan_template(template, roots):
        if token.kind is TokenKind.BODY:
            continue
        paths += _paths_of(token.text, longest)
    return paths


@lru_cache(maxsize=CACHED_EXPRESSIONS)
def _paths_of(text: str, longest: int | None) -> tuple[Path, ...]:
    # A flow has few different expressions, in many templates.
    try:
        return tuple(expression_paths(parse_expression(text), longest))
    except ExpressionSyntaxError:
        return ()


def expression_paths(expression: Expression, longest: int | None = None) -> list[Path]:
    """The context paths of one parsed expression, see `context_paths`."""
    paths: list[Path] = []
    known: dict[int, Path] = {}
    called = _called_names(expression)
    for node, bound in walk_expression(expression):
        path = _node_path(node, bound, known)
        if path is None or id(node) in called or (longest is not None and len(path) > longest):
            continue
        known[id(node)] = path
        if not isinstance(node, Group):
            paths.append(path)
    return paths


def _called_names(expression: Expression) -> frozenset[int]:
    functions = (node.function for node, _ in walk_expression(expression) if isinstance(node, Call))
    return frozenset(id(function) for function in functions if isinstance(function, ContextReference))


def _node_path(node: Expression, bound: frozenset[str], known: dict[int, Path]) -> Path | None:
    if isinstance(node, ContextReference):
        return None if node.name in bound else (node.name,)
    if isinstance(node, Group):
        return known.get(id(node.inner))
    if isinstance(node, DotLookup):
        container, key = known.get(id(node.container)), node.name
    elif isinstance(node, BracketLookup) and isinstance(node.key, TextLiteral):
        container, key = known.get(id(node.container)), node.key.value
    else:
        return None
    return None if container is None else (*container, key.lower())
