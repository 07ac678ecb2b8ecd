"""Finds which parts of the context a template reads (flow format, inspection).

Changes only the expressions of a template (flow format, migrations).
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache

import regex

from flows.expressions.parser import ExpressionSyntaxError, parse_expression
from flows.expressions.scanner import TemplateToken, TokenKind, scan_template
from flows.expressions.syntax import (
    BracketLookup,
    Call,
    ContextReference,
    DotLookup,
    Expression,
    Group,
    TextLiteral,
    rewrite_expression,
    walk_expression,
)

CACHED_EXPRESSIONS = 4096
Path = tuple[str, ...]

_IDENTIFIER = regex.compile(r"[\p{L}_][\p{L}\p{Nd}_]*(?:\.[\p{L}\p{Nd}_]+)*")


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


@dataclass(frozen=True, slots=True)
class Rewriting:
    """The rewritten template, and errors of expressions that could not be parsed, like
    `error evaluating @(x): reason`."""

    template: str
    errors: tuple[str, ...] = ()


def rewrite_template(
    template: str, change: Callable[[Expression], Expression], roots: Collection[str] | None = None
) -> Rewriting:
    """Calls `change` for every node of every expression (see `rewrite_expression`). Expressions without a change, or
    that cannot be parsed, stay exactly as written, as does all literal text.
    """

    def change_all(expression: Expression) -> Expression | None:
        changed = rewrite_expression(expression, change)
        return None if changed is expression else changed

    return rewrite_whole_expressions(template, change_all, roots)


def rewrite_whole_expressions(
    template: str, change: Callable[[Expression], Expression | None], roots: Collection[str] | None = None
) -> Rewriting:
    """Replaces each expression by the result of `change`, printed canonically; None leaves it as written. An
    `@identifier` stays one if the new expression allows it, and becomes `@(...)` otherwise.
    """
    written: list[str] = []
    errors: list[str] = []
    for token in scan_template(template, roots):
        if token.kind is TokenKind.BODY:
            written.append(token.source)
            continue
        try:
            changed = change(parse_expression(token.text))
            written.append(token.source if changed is None else _wrap(token, str(changed)))
        except ExpressionSyntaxError as error:
            errors.append(f"error evaluating {token.source}: {error}")
            written.append(token.source)
    return Rewriting("".join(written), tuple(errors))


@lru_cache(maxsize=CACHED_EXPRESSIONS)
def _paths_of(text: str, longest: int | None) -> tuple[Path, ...]:
    # A flow has few different expressions, in many templates.
    try:
        return tuple(expression_paths(parse_expression(text), longest))
    except ExpressionSyntaxError:
        return ()


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


def _wrap(token: TemplateToken, expression: str) -> str:
    if token.kind is TokenKind.IDENTIFIER and _IDENTIFIER.fullmatch(expression):
        return f"@{expression}"
    return f"@({expression})"
