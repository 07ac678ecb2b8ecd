"""The new form of any old expression can be parsed and has the same meaning."""

from __future__ import annotations

import contextlib
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flows.definition.legacy.expressions import migrate_expression
from flows.definition.legacy.functions import REARRANGED, RENAMED
from flows.definition.legacy.operands import LegacyExpressionError
from flows.environment import Environment
from flows.expressions.evaluator import evaluate_value
from flows.expressions.parser import parse_expression
from flows.expressions.values import XObject
from tests.flows.corpora.case_values import standing_clock

BUILT = ("field", "word", "word_count", "word_slice", "fixed", "if", "sum", "concatenate", "power", "exp", "right")
NAMES = st.sampled_from([*RENAMED, *REARRANGED, *BUILT, "weekday", "datedif", "trunc", "true", "smoke"])
PATHS = st.sampled_from(
    [
        "contact",
        "contact.age",
        "contact.tel",
        "flow.x.text",
        "date.today",
        "date.now",
        "extra.0.a",
        "step.attachments.1",
    ]
)
TEXTS = st.text(alphabet='a"\\nu0é \n(){}', max_size=8).map(lambda text: '"' + text.replace('"', '""') + '"')
LEAVES = (
    st.integers(0, 99).map(str) | st.sampled_from(["1.50", "TRUE", "NOW()", "TODAY()", "TIME(1, 2, 3)"]) | PATHS | TEXTS
)
OPERATORS = st.sampled_from(["+", "-", "*", "/", "^", "&", "=", "<>", "<", ">="])


def combine(inner: Any) -> Any:
    calls = st.builds(lambda name, parts: f"{name}({', '.join(parts)})", NAMES, st.lists(inner, max_size=4))
    binary = st.builds("{} {} {}".format, inner, OPERATORS, inner)
    return calls | binary | st.builds("({})".format, inner) | st.builds("-{}".format, inner)


@given(expression=st.recursive(LEAVES, combine, max_leaves=12))
def test_the_new_form_can_be_read(expression: str) -> None:
    with contextlib.suppress(LegacyExpressionError):
        assert str(parse_expression(migrate_expression(expression)))


@given(text=st.text(alphabet='a"\\nux01U é \n(){}@', max_size=12))
def test_a_text_stands_for_the_same_characters(text: str) -> None:
    escaped = text.replace('"', '""')

    migrated = migrate_expression(f'CONCATENATE("{escaped}", "!")')

    assert evaluate(migrated) == f"{text}!"


def combine_numbers(inner: Any) -> Any:
    return (
        st.builds(lambda a, b: (f"SUM({a[0]}, {b[0]})", a[1] + b[1]), inner, inner)
        | st.builds(lambda a, b: (f"({a[0]}) * ({b[0]})", a[1] * b[1]), inner, inner)
        | st.builds(lambda a, b: (f"SUM({a[0]}, {b[0]}) * 2", (a[1] + b[1]) * 2), inner, inner)
        | st.builds(lambda a: (f"POWER({a[0]}, 2)", a[1] ** 2), inner)
        | st.builds(lambda a: (f"-({a[0]})", -a[1]), inner)
        | st.builds(lambda a: (f"-SUM({a[0]}, 1)", -(a[1] + 1)), inner)
        | st.builds(lambda a, b: (f"({a[0]}) - SUM({b[0]}, 1)", a[1] - (b[1] + 1)), inner, inner)
    )


@given(pair=st.recursive(st.integers(0, 9).map(lambda n: (str(n), n)), combine_numbers, max_leaves=4))
def test_calls_that_become_operators_keep_their_order(pair: tuple[str, int]) -> None:
    expression, number = pair

    assert evaluate(migrate_expression(expression)) == Decimal(number)


def evaluate(expression: str) -> Any:
    clock = standing_clock("2020-02-03T04:05:06Z")
    return evaluate_value(f"@({expression})", XObject({}), Environment(), clock).value
