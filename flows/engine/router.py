"""Decides by which exit a node is left (flow format, routers)."""

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from flows.definition import Case, Category, Router
from flows.engine.visit import Visit
from flows.expressions.conversions import to_text
from flows.expressions.errors import ExpressionError, ExpressionTooComplexError
from flows.expressions.functions import find_function
from flows.expressions.functions.registry import Outcome
from flows.expressions.rendering import render, render_json
from flows.expressions.templates import TEXT_LIMIT
from flows.expressions.values import Value, XError
from flows.numbers import render_decimal
from flows.words import storable

RANDOM = "random"
ESCAPED_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


class Choice(NamedTuple):
    """The chosen exit of a node; None if the router failed. `operand` is the value that was tested, as text."""

    exit_uuid: str
    operand: str = ""


class _Match(NamedTuple):
    category_uuid: str
    text: str
    extra: Any = None


def route(visit: Visit, router: Router) -> Choice:
    """Evaluates a router and saves its result."""
    if router.type == RANDOM:
        return _route_randomly(visit, router)
    operand = _evaluate_operand(visit, router.operand)
    operand_text = _write(visit, operand)
    match = _find_match(visit, router, operand) or _default_match(visit, router, operand, operand_text)
    if match is None:
        return Choice("", operand_text)
    return _leave(visit, router, match, operand_text)


def route_timeout(visit: Visit, router: Router, category_uuid: str) -> Choice:
    """Leaves by the category of a timeout, with an empty result; generation 13 saves the time."""
    value = render(visit.sprint.clock.now()) if visit.sprint.options.is_early else ""
    return _leave(visit, router, _Match(category_uuid, value), "")


def _route_randomly(visit: Visit, router: Router) -> Choice:
    drawn = visit.sprint.clock.random()
    index = int(drawn * len(router.categories))
    match = _Match(router.categories[index].uuid, str(index))
    return _leave(visit, router, match, render_decimal(drawn))


def _evaluate_operand(visit: Visit, template: str) -> Value:
    if "@" not in template:
        return template.strip()
    result = visit.value(template)
    # Errors within texts are logged; the error of a single expression is a value that tests can check.
    visit.log.report(result)
    return result.value


def _find_match(visit: Visit, router: Router, operand: Value) -> _Match | None:
    for case in router.cases:
        outcome = _apply_test(visit, case, operand)
        if isinstance(outcome, Outcome):
            if outcome.has_matched:
                return _Match(case.category_uuid, _write(visit, outcome.match), to_plain(outcome.extra))
        elif isinstance(outcome, XError):
            visit.log.error(_sentence(outcome.message))
    return None


def _apply_test(visit: Visit, case: Case, operand: Value) -> Value:
    values: Sequence[Value] | None = None if visit.may_be_translated else case.constants
    if values is None:
        values = _evaluate_arguments(visit, case)
    test = find_function(case.type)
    if test is None:
        return XError(f"{case.type} is not a function")
    evaluation = visit.evaluation()
    try:
        return test.call(evaluation, [operand, *values])
    except ExpressionTooComplexError as error:
        return XError(str(error))


def _evaluate_arguments(visit: Visit, case: Case) -> Sequence[Value]:
    arguments, _ = visit.localize(case.uuid, "arguments", case.arguments)
    if len(arguments) != len(case.arguments):
        arguments = list(case.arguments)
    return [_evaluate_operand(visit, argument) for argument in arguments]


def _default_match(visit: Visit, router: Router, operand: Value, operand_text: str) -> _Match | None:
    if not router.default_category_uuid:
        return None
    if isinstance(operand, XError):
        visit.log.report_expression(router.operand.strip(), operand.message)
    return _Match(router.default_category_uuid, operand_text)


def _leave(visit: Visit, router: Router, match: _Match, operand_text: str) -> Choice:
    category = _find_category(router, match.category_uuid)
    if category is None:
        return Choice("", operand_text)
    if router.result_name:
        texts, language = visit.localize(category.uuid, "name", [category.name])
        localized = texts[0] if language != visit.flow.language and texts else ""
        visit.save_result(
            router.result_name,
            match.text,
            category.name,
            localized=localized,
            text_input=operand_text,
            extra=match.extra,
        )
    return Choice(category.exit_uuid, operand_text)


def _find_category(router: Router, uuid: str) -> Category | None:
    for category in router.categories:
        if category.uuid == uuid:
            return category
    return None


def _write(visit: Visit, value: Value) -> str:
    if isinstance(value, str) and len(value) <= TEXT_LIMIT:
        return value
    if isinstance(value, Decimal):
        return render_decimal(value)
    if isinstance(value, XError):
        return ""
    try:
        return to_text(visit.evaluation(), value)
    except (ExpressionError, ExpressionTooComplexError):
        return ""


def _sentence(message: str) -> str:
    return message[:1].upper() + message[1:]


def to_plain(value: Value) -> Any:
    """A value as plain data for JSON."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return json.loads(ESCAPED_NUL.sub(r"\1", render_json(value)))
