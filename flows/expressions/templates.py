"""Evaluates whole templates, as text or as a typed value (flow format, templates)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from flows.clock import Clock
from flows.environment import Environment
from flows.expressions.budget import Budget
from flows.expressions.conversions import to_text
from flows.expressions.errors import ExpressionError, ExpressionTooComplexError
from flows.expressions.evaluation import NO_RESOURCES, Evaluation, Resources
from flows.expressions.evaluator import evaluate_expression
from flows.expressions.parser import ExpressionSyntaxError
from flows.expressions.scanner import TemplateToken, TokenKind, scan_template
from flows.expressions.values import Value, XError, XObject

TEXT_LIMIT = 10_000
ELLIPSIS = "..."
EXPRESSION_LENGTH_LIMIT = 50_000


class TemplateError(str):
    """What went wrong with one expression of a template, as `error evaluating @x: reason`."""

    __slots__ = ("expression", "reason")

    expression: str
    reason: str

    def __new__(cls, expression: str, reason: str) -> Self:
        """Builds the text out of the expression as written, with its `@`, and the reason."""
        error = super().__new__(cls, f"error evaluating {expression}: {reason}")
        error.expression = expression
        error.reason = reason
        return error


@dataclass(frozen=True, slots=True)
class TextResult:
    """A template as text; `errors` and `warnings` are in the order in which they came up."""

    text: str
    errors: list[TemplateError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def error_text(self) -> str:
        """All errors in one text, empty when there are none."""
        return ", ".join(self.errors)


@dataclass(frozen=True, slots=True)
class ValueResult:
    """A template as a value; an XError value, with no `errors`, when it is a single expression in error."""

    value: Value
    errors: list[TemplateError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def evaluate_text(
    template: str,
    context: XObject,
    env: Environment,
    clock: Clock,
    *,
    escape: Callable[[str], str] | None = None,
    limit: int | None = TEXT_LIMIT,
    resources: Resources = NO_RESOURCES,
    budget: Budget | None = None,
) -> TextResult:
    """The template with the texts of its expressions in place, cut to `limit` characters (None: never).

    `escape` is applied to the text of each expression. Expressions in error leave nothing behind and are reported.
    """
    evaluation = Evaluation(env, clock, resources, budget or Budget())
    text, errors = _write_text(template, context, evaluation, escape)
    return TextResult(_cut(text, limit), errors, evaluation.warnings)


def evaluate_value(
    template: str,
    context: XObject,
    env: Environment,
    clock: Clock,
    *,
    resources: Resources = NO_RESOURCES,
    budget: Budget | None = None,
) -> ValueResult:
    """The value of a template that is, but for space around it, one expression; the text of any other without that."""
    evaluation = Evaluation(env, clock, resources, budget or Budget())
    trimmed = template.strip()
    single = _find_single_expression(trimmed, context)
    if single is not None:
        return ValueResult(_evaluate(single, context, evaluation), [], evaluation.warnings)
    text, errors = _write_text(trimmed, context, evaluation, None)
    return ValueResult(_cut(text, TEXT_LIMIT), errors, evaluation.warnings)


def _find_single_expression(trimmed: str, context: XObject) -> TemplateToken | None:
    for token in scan_template(trimmed, _roots(context)):
        is_whole = token.kind is not TokenKind.BODY and len(token.source) == len(trimmed)
        return token if is_whole else None
    return None


def _write_text(
    template: str, context: XObject, evaluation: Evaluation, escape: Callable[[str], str] | None
) -> tuple[str, list[TemplateError]]:
    written: list[str] = []
    errors: list[TemplateError] = []
    for token in scan_template(template, _roots(context)):
        if token.kind is TokenKind.BODY:
            written.append(token.text)
            continue
        text = _evaluate_to_text(token, context, evaluation)
        if isinstance(text, XError):
            errors.append(TemplateError(token.source, text.message))
        else:
            written.append(escape(text) if escape else text)
    return "".join(written), errors


def _evaluate_to_text(token: TemplateToken, context: XObject, evaluation: Evaluation) -> str | XError:
    value = _evaluate(token, context, evaluation)
    try:
        return to_text(evaluation, value)
    except (ExpressionError, ExpressionTooComplexError) as error:
        return XError(str(error))


def _evaluate(token: TemplateToken, context: XObject, evaluation: Evaluation) -> Value:
    if len(token.text) > EXPRESSION_LENGTH_LIMIT:
        return XError(str(ExpressionTooComplexError()))
    try:
        return evaluate_expression(token.text, context, evaluation)
    except ExpressionSyntaxError as error:
        return XError(str(error))


def _roots(context: XObject) -> frozenset[str]:
    return frozenset(name.lower() for name in context.names())


def _cut(text: str, limit: int | None) -> str:
    if limit is None or len(text) <= limit:
        return text
    return text[: max(0, limit - len(ELLIPSIS))] + ELLIPSIS
