"""Evaluates templates with plain data, for programs that use expressions without flows (flow format, templates)."""

from collections.abc import Mapping
from typing import Any

from flows.environment import SYSTEM_CLOCK, Clock, Environment
from flows.expressions.evaluation import NO_RESOURCES, Resources
from flows.expressions.evaluator import TEXT_LIMIT, TextResult, evaluate_text
from flows.expressions.values import XObject, to_value


def evaluate(
    template: str,
    context: Mapping[str, Any],
    environment: Environment | None = None,
    *,
    clock: Clock = SYSTEM_CLOCK,
    limit: int | None = TEXT_LIMIT,
    resources: Resources = NO_RESOURCES,
) -> TextResult:
    """A template as text, with what its expressions look up taken from `context`.

    `context` is plain data, as from JSON: a mapping of names to texts, numbers, booleans, None, moments, lists and
    mappings; the key `__default__` of a mapping is its text. The text is cut to `limit` characters. No template raises
    an exception: an expression with an error becomes an empty string and is listed in `errors`, each with `expression`
    and `reason`.

    >>> evaluate("Hi @contact.name, @(1 + 1)!", {"contact": {"name": "Bob"}}).text
    'Hi Bob, 2!'
    >>> [error.reason for error in evaluate("@(1 / 0)", {}).errors]
    ['division by zero']
    """
    values = to_value(dict(context))
    names = values if isinstance(values, XObject) else XObject({})
    return evaluate_text(template, names, environment or Environment(), clock, limit=limit, resources=resources)
