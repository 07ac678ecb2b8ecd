"""Formats values as people in a workspace write them (flow format, `format`)."""

from datetime import date, datetime, time
from decimal import Decimal

from flows.expressions.conversions import in_zone
from flows.expressions.evaluation import Evaluation
from flows.expressions.rendering import check_depth, render
from flows.expressions.values import Value, XArray, XObject
from flows.layouts import format_with_layout
from flows.numbers import format_number

INDENT = "  "


def format_value(evaluation: Evaluation, value: Value, depth: int = 0) -> str:
    """Numbers and dates in the environment's formats, items and properties of several lines in lists."""
    check_depth(depth)
    evaluation.budget.spend()
    if isinstance(value, XArray):
        return _format_array([format_value(evaluation, item, depth + 1) for item in value], evaluation)
    if isinstance(value, XObject):
        if value.has_default:
            return format_value(evaluation, value.default, depth + 1)
        pairs = [(name, format_value(evaluation, item, depth + 1)) for name, item in value.items()]
        return _format_object(pairs, evaluation)
    return _format_simple(evaluation, value)


def _format_simple(evaluation: Evaluation, value: Value) -> str:
    environment = evaluation.environment
    if isinstance(value, Decimal):
        return format_number(value, environment.number_format)
    if isinstance(value, datetime):
        layout = f"{environment.date_format} {environment.time_format}"
        return format_with_layout(in_zone(evaluation, value), layout, environment, "datetime")
    if isinstance(value, date):
        return format_with_layout(value, environment.date_format, environment, "date")
    if isinstance(value, time):
        return format_with_layout(value, environment.time_format, environment, "time")
    return render(value)


def _format_array(texts: list[str], evaluation: Evaluation) -> str:
    _reserve(texts, evaluation)
    if any("\n" in text for text in texts):
        return "\n".join("- " + _indent(text)[len(INDENT) :] for text in texts)
    return ", ".join(texts)


def _reserve(texts: list[str], evaluation: Evaluation) -> None:
    length = sum(map(len, texts))
    evaluation.budget.spend(len(texts) + length // 16)
    if length > evaluation.budget.cost:
        evaluation.budget.reserve(length)


def _format_object(pairs: list[tuple[str, str]], evaluation: Evaluation) -> str:
    _reserve([text for _, text in pairs], evaluation)
    lines = [f"{name}:\n{_indent(text)}" if "\n" in text else f"{name}: {text}" for name, text in pairs]
    return "\n".join(lines)


def _indent(text: str) -> str:
    return "\n".join(INDENT + line for line in text.split("\n"))
