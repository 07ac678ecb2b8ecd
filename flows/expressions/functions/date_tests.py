"""Router tests on dates and times (flow format, router tests)."""

import operator
from collections.abc import Callable
from datetime import date

from flows.dates import parse_datetime, parse_time
from flows.expressions.conversions import in_zone
from flows.expressions.evaluation import Evaluation
from flows.expressions.functions.registry import DATE, TEXT, function, matched, not_matched
from flows.expressions.values import XObject

CHARACTERS_PER_UNIT = 2


@function("has_date", takes=[TEXT])
def has_date(evaluation: Evaluation, text: str) -> XObject:
    """There is a date in the text; the match is a datetime, with the current time of day if none is written."""
    return find_date(evaluation, text, lambda day: True)


@function("has_time", takes=[TEXT])
def has_time(evaluation: Evaluation, text: str) -> XObject:
    """There is a time of day in the text."""
    evaluation.budget.spend(len(text) // CHARACTERS_PER_UNIT)
    found = parse_time(text)
    return not_matched() if found is None else matched(found)


def find_date(evaluation: Evaluation, text: str, accepts: Callable[[date], bool]) -> XObject:
    """The outcome with the date in a text if its day, in the environment's time zone, is accepted."""
    evaluation.budget.spend(len(text) // CHARACTERS_PER_UNIT)
    found = parse_datetime(evaluation.environment, evaluation.clock, text, True)
    if found is None or not accepts(in_zone(evaluation, found).date()):
        return not_matched()
    return matched(found)


def _declare_comparison(name: str, compare: Callable[[date, date], bool]) -> None:
    @function(name, takes=[TEXT, DATE])
    def has_date_compared(evaluation: Evaluation, text: str, bound: date) -> XObject:
        return find_date(evaluation, text, lambda day: compare(day, bound))


for _name, _compare in (("has_date_lt", operator.lt), ("has_date_eq", operator.eq), ("has_date_gt", operator.gt)):
    _declare_comparison(_name, _compare)
