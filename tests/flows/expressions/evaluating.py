"""Short ways to evaluate something in tests."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from flows.environment import Environment
from flows.expressions.conversions import render, render_json
from flows.expressions.evaluation import NO_RESOURCES, Resources
from flows.expressions.evaluator import TextResult, evaluate_text, evaluate_value
from flows.expressions.values import Value, XError, XObject, to_value

NOW = datetime(2024, 5, 17, 9, 30, 15, 250000, tzinfo=UTC)


class StoppedClock:
    """Always the same moment and the same number."""

    def now(self) -> datetime:
        return NOW

    def random(self) -> Decimal:
        return Decimal("0.25")

    def uuid(self) -> str:
        return "11111111-2222-4333-8444-555555555555"


def make_context(context: dict[str, Any]) -> XObject:
    return XObject({name: to_value(value) for name, value in context.items()})


def evaluate_template(template: str, context: XObject | None = None, **settings: Any) -> TextResult:
    environment = settings.pop("environment", Environment())
    return evaluate_text(template, context or XObject({}), environment, StoppedClock(), **settings)


def value_of(
    expression: str, environment: Environment | None = None, resources: Resources = NO_RESOURCES, **context: Any
) -> Value:
    """The value of one expression."""
    template = f"@({expression})"
    environment = environment or Environment()
    return evaluate_value(template, make_context(context), environment, StoppedClock(), resources=resources).value


def text_of(expression: str, environment: Environment | None = None, **context: Any) -> str:
    """The text of one expression, which must not be in error."""
    result = evaluate_template(f"@({expression})", make_context(context), environment=environment or Environment())
    assert not result.errors, result.errors
    return result.text


def error_of(expression: str, environment: Environment | None = None, **context: Any) -> str:
    """The message of one expression, which must be in error."""
    value = value_of(expression, environment, **context)
    assert isinstance(value, XError), f"{value!r} is no error"
    return value.message


def outcome_of(expression: str, environment: Environment | None = None, **context: Any) -> str:
    """The value of one expression as JSON, or the word error; what a test returns comes behind its truth."""
    value = value_of(expression, environment, **context)
    if isinstance(value, XError):
        return "error"
    is_verdict = isinstance(value, XObject) and isinstance(value.default, bool)
    return f"{render(value)} {render_json(value)}" if is_verdict else render_json(value)
