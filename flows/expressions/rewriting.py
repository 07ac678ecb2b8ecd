"""Changes only the expressions of a template (flow format, migrations)."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

import regex

from flows.expressions.parser import ExpressionSyntaxError, parse_expression
from flows.expressions.scanner import TemplateToken, TokenKind, scan_template
from flows.expressions.syntax import Expression, rewrite_expression

_IDENTIFIER = regex.compile(r"[\p{L}_][\p{L}\p{Nd}_]*(?:\.[\p{L}\p{Nd}_]+)*")


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


def _wrap(token: TemplateToken, expression: str) -> str:
    if token.kind is TokenKind.IDENTIFIER and _IDENTIFIER.fullmatch(expression):
        return f"@{expression}"
    return f"@({expression})"
