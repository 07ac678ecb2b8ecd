"""Router tests on numbers (flow format, router tests)."""

import operator
from collections.abc import Callable
from decimal import Decimal

from flows.expressions.evaluation import Evaluation
from flows.expressions.functions.registry import NUMBER, TEXT, function, matched, not_matched
from flows.expressions.values import XObject
from flows.numbers import find_numbers

CHARACTERS_PER_UNIT = 2


@function("has_number", takes=[TEXT])
def has_number(evaluation: Evaluation, text: str) -> XObject:
    """There is a number in the text; the match is the first."""
    return find_number(evaluation, text, lambda number: True)


@function("has_number_between", takes=[TEXT, NUMBER, NUMBER])
def has_number_between(evaluation: Evaluation, text: str, least: Decimal, most: Decimal) -> XObject:
    """There is a number in the text within an inclusive range."""
    return find_number(evaluation, text, lambda number: least <= number <= most)


def find_number(evaluation: Evaluation, text: str, accepts: Callable[[Decimal], bool]) -> XObject:
    """The outcome with the first number in a text that is accepted."""
    evaluation.budget.spend(len(text) // CHARACTERS_PER_UNIT)
    for number in find_numbers(evaluation.environment, text):
        if accepts(number):
            return matched(number)
    return not_matched()


def _declare_comparison(name: str, compare: Callable[[Decimal, Decimal], bool]) -> None:
    @function(name, takes=[TEXT, NUMBER])
    def has_number_compared(evaluation: Evaluation, text: str, bound: Decimal) -> XObject:
        return find_number(evaluation, text, lambda number: compare(number, bound))


for _name, _compare in (
    ("has_number_lt", operator.lt),
    ("has_number_lte", operator.le),
    ("has_number_eq", operator.eq),
    ("has_number_gte", operator.ge),
    ("has_number_gt", operator.gt),
):
    _declare_comparison(_name, _compare)
