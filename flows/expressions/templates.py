"""Evaluates whole templates, as text or as a typed value (flow format, templates)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Self

from flows.environment import Clock, Environment
from flows.expressions.conversions import to_text
from flows.expressions.evaluation import (
    NO_RESOURCES,
    Budget,
    Evaluation,
    ExpressionError,
    ExpressionTooComplexError,
    Resources,
)
from flows.expressions.evaluator import Program, Scope, compile_expression, make_error_program
from flows.expressions.parser import CACHED_EXPRESSIONS, CACHED_LENGTH, ExpressionSyntaxError
from flows.expressions.scanner import TemplateToken, TokenKind, scan_template
from flows.expressions.values import Value, XError, XObject
from flows.words import cut_between_letters

TEXT_LIMIT = 10_000
ELLIPSIS = "..."
EXPRESSION_LENGTH_LIMIT = 50_000


class TemplateError(str):
    """What went wrong with one expression of a template, as `error evaluating @x: reason`."""

    __slots__ = ("expression", "reason")

    expression: str
    reason: str

    def __new__(cls, expression: str, reason: str) -> Self:
        """Builds the text from the expression as written, with its `@`, and the reason."""
        error = super().__new__(cls, f"error evaluating {expression}: {reason}")
        error.expression = expression
        error.reason = reason
        return error


@dataclass(slots=True)
class TextResult:
    """A template as text; `errors` and `warnings` are in the order in which they occurred."""

    text: str
    errors: list[TemplateError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def error_text(self) -> str:
        """All errors in one text, empty when there are none."""
        return ", ".join(self.errors)


@dataclass(slots=True)
class ValueResult:
    """A template as a value; a single expression with an error gives an XError value and no `errors`."""

    value: Value
    errors: list[TemplateError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Placeholder:
    """An expression within a template, as written and as a program."""

    source: str
    program: Program

    def write(self, scope: Scope, evaluation: Evaluation) -> str | XError:
        """The text of the expression."""
        value = self.program.evaluate(evaluation, scope)
        if isinstance(value, XError):
            return value
        try:
            return to_text(evaluation, value)
        except (ExpressionError, ExpressionTooComplexError) as error:
            return XError(str(error))


class Template:
    """A compiled template: its literal texts and the programs of its expressions, in order."""

    __slots__ = ("_pieces", "_single")

    def __init__(self, text: str, roots: frozenset[str]) -> None:
        """`roots` are the names, in lower case, with which identifiers in the text may begin."""
        self._pieces = tuple(_make_piece(token) for token in scan_template(text, roots))
        first = self._pieces[0] if self._pieces else ""
        is_single = isinstance(first, _Placeholder) and len(first.source) == len(text)
        self._single = first if is_single and isinstance(first, _Placeholder) else None

    def write(
        self, context: XObject, evaluation: Evaluation, escape: Callable[[str], str] | None
    ) -> tuple[str, list[TemplateError]]:
        """The text, and the errors of expressions, which become empty strings in it."""
        scope = Scope({}, None, context)
        written: list[str] = []
        errors: list[TemplateError] = []
        for piece in self._pieces:
            if isinstance(piece, str):
                written.append(piece)
                continue
            text = piece.write(scope, evaluation)
            if isinstance(text, XError):
                errors.append(TemplateError(piece.source, text.message))
            else:
                written.append(escape(text) if escape else text)
        return "".join(written), errors

    def read(self, context: XObject, evaluation: Evaluation) -> tuple[Value, list[TemplateError]]:
        """The value of a template that is one expression; the text of any other, cut to its limit, and its errors."""
        if self._single is not None:
            return self._single.program.evaluate(evaluation, Scope({}, None, context)), []
        text, errors = self.write(context, evaluation, None)
        return cut_text(text, TEXT_LIMIT), errors


def compile_template(text: str, roots: frozenset[str]) -> Template:
    """A text as a template, see `Template`. Templates of short texts are cached."""
    return Template(text, roots) if len(text) > CACHED_LENGTH else _compile_cached(text, roots)


@lru_cache(maxsize=CACHED_EXPRESSIONS)
def _compile_cached(text: str, roots: frozenset[str]) -> Template:
    return Template(text, roots)


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
    """The template with its expressions evaluated, cut to `limit` characters (None: never). `escape` is applied to the
    text of each expression. An expression with an error becomes an empty string and is reported.
    """
    evaluation = Evaluation(env, clock, resources, budget)
    text, errors = compile_template(template, context.roots()).write(context, evaluation, escape)
    return TextResult(cut_text(text, limit), errors, evaluation.warnings)


def evaluate_value(
    template: str | Template,
    context: XObject,
    env: Environment,
    clock: Clock,
    *,
    resources: Resources = NO_RESOURCES,
    budget: Budget | None = None,
) -> ValueResult:
    """The value of a template that is one expression, ignoring space around it; for any other template, its text
    without that space."""
    evaluation = Evaluation(env, clock, resources, budget)
    ready = compile_template(template.strip(), context.roots()) if isinstance(template, str) else template
    value, errors = ready.read(context, evaluation)
    return ValueResult(value, errors, evaluation.warnings)


def _make_piece(token: TemplateToken) -> str | _Placeholder:
    if token.kind is TokenKind.BODY:
        return token.text
    if len(token.text) > EXPRESSION_LENGTH_LIMIT:
        return _Placeholder(token.source, make_error_program(str(ExpressionTooComplexError())))
    try:
        return _Placeholder(token.source, compile_expression(token.text))
    except ExpressionSyntaxError as error:
        return _Placeholder(token.source, make_error_program(str(error)))


def cut_text(text: str, limit: int | None) -> str:
    """A text cut to a number of characters (None: never), with dots at the end if it was longer."""
    if limit is None or len(text) <= limit:
        return text
    return cut_between_letters(text, max(0, limit - len(ELLIPSIS))) + ELLIPSIS
