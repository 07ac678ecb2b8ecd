"""No template makes evaluation raise an exception, hang or use too much memory."""

from __future__ import annotations

import gc
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flows.environment import Environment
from flows.expressions.evaluator import evaluate_value
from flows.expressions.functions.registry import FUNCTIONS
from flows.expressions.values import Value, XError
from tests.flows.expressions.evaluating import StoppedClock, evaluate_template, make_context

CONTEXT = make_context({
    "xs": list(range(10_000)),
    "big": "word 12 " * 20_000,
    "person": {"__default__": "Ann", "age": 30, "groups": [{"uuid": "g1", "name": "A"}]},
    "nothing": None,
})  # fmt: skip
TEN = "x,x,x,x,x,x,x,x,x,x"
GROWING = "a(a(a(a(a(a(a(a(1))))))))"
ENOUGH_SECONDS = 30
"""For a busy machine: each takes a second or less, and without a bound minutes, hours or all memory."""
ENVIRONMENT = Environment(timezone="America/New_York", default_country="US")


def evaluate_in_time(template: str, *, is_value_asked: bool = True) -> Value:
    # Whatever other tests keep in memory would be searched for garbage meanwhile.
    gc.freeze()
    started = time.process_time()
    value = evaluate_value(template, CONTEXT, ENVIRONMENT, StoppedClock()).value if is_value_asked else None
    evaluate_template(template, CONTEXT, environment=ENVIRONMENT)
    taken = time.process_time() - started
    gc.unfreeze()
    assert taken < ENOUGH_SECONDS, template[:200]
    return value


@pytest.mark.parametrize(
    "expression",
    [
        "foreach(xs, (x) => foreach(xs, (y) => x + y))",
        'foreach(xs, (x) => has_any_word(big, "foo"))',
        'foreach(xs, (x) => has_phrase(big, "foo " & x))',
        'foreach(xs, (x) => regex_match(big & x, "(a|b)*" & x))',
        'foreach(xs, (x) => repeat("x", 9999))',
        "foreach(xs, (x) => (x + 0.5) ^ 0.77)",
        "foreach(xs, (x) => unique(xs))",
        "foreach(xs, (x) => contains(xs, -1))",
        "foreach(xs, (x) => parse_json(json(xs)))",
        "foreach(xs, (x) => title(big & x))",
        "foreach(xs, (x) => has_date(big & x))",
        "foreach(xs, (x) => has_number_gt(big, 10000))",
        "foreach(xs, (x) => trim(big, big))",
        "foreach(xs, (x) => split(big, big))",
        "foreach(xs, (x) => replace(big, \"w\", big))",
        'foreach(xs, (x) => has_phone(big, "US"))',
        f"((a) => {GROWING})((x) => array({TEN}))",
        f"((a) => text({GROWING}))((x) => array({TEN}))",
        f"((a) => json({GROWING}))((x) => array({TEN}))",
        f"((a) => format({GROWING}))((x) => array({TEN}))",
        f"((a) => unique({GROWING}))((x) => array({TEN}))",
        f"((a) => {GROWING})((x) => x & \"{'-' * 900}\" & x & x & x & x & x & x)",
        "((f) => f(f))((f) => f(f))",
    ],
)  # fmt: skip
def test_work_without_end_is_too_complex(expression: str) -> None:
    # Each works until it is stopped, which takes a second: once is enough. A text begins with the value.
    evaluate_in_time(f"@({expression})", is_value_asked=False)


@pytest.mark.parametrize(
    "template",
    ["@(" * 30_000, "@(1)" * 10_000, "@" * 50_000, "@(" + "(" * 50_000, '@("' * 10_000, "@(" + "-" * 49_999 + "1)",
     "@(1" + "+1" * 24_000 + ")", "@(a" + ".b" * 24_000 + ")", "@(" + "(x)=>" * 9_000 + "x)", "@(" + "9" * 49_000 + ")",
     '@(parse_json(repeat("[", 9000) & repeat("]", 9000)))', "@(2 ^ 100 ^ 100)", "@(10 ^ 100 + 10 ^ -100)"],
)  # fmt: skip
def test_long_and_deep_templates_are_read_in_time(template: str) -> None:
    evaluate_in_time(template, is_value_asked=False)


def test_a_hostile_host_stack_is_an_error_and_no_crash() -> None:
    def nest(depth: int) -> Value:
        return nest(depth - 1) if depth else evaluate_value(
            "@(" + "text(" * 90 + "1" + ")" * 90 + ")", CONTEXT, ENVIRONMENT, StoppedClock()
        ).value  # fmt: skip

    assert nest(300) == "1"


LEAVES = st.sampled_from(
    ["1", "-2.5", "0", '""', '"abc 12"', '"2020-01-31"', '"10:30 pm"', '"\\u0000"', '"tel:+12065551212"', "null",
     "true", "xs", "big", "person", "nothing", "person.age", "person.groups", "upper", "missing", "10 ^ 99", "1 / 3",
     "now()", '"[0-9"', '"Africa/Kigali"', '"YYYY-MM-DD"', '"D"', "today()", "2147483647", "array()", 'object("a", 1)',
     "(x) => x"]
)  # fmt: skip


def _combine(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    names = st.sampled_from(sorted(FUNCTIONS))
    calls = st.builds(lambda name, given: f"{name}({', '.join(given)})", names, st.lists(children, max_size=4))
    operators = st.sampled_from(["&", "=", "!=", "<", "+", "-", "*", "/", "^"])
    binaries = st.builds(lambda left, operator, right: f"({left} {operator} {right})", children, operators, children)
    lookups = st.builds(lambda container, key: f"({container})[{key}]", children, children)
    bodies = st.builds(lambda body: f"foreach(slice(xs, 0, 3), (x) => {body})", children)
    return calls | binaries | lookups | bodies


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.recursive(LEAVES, _combine, max_leaves=8))
def test_every_expression_has_a_value_in_time(expression: str) -> None:
    value = evaluate_in_time(f"@({expression})")
    assert not isinstance(value, XError) or value.message


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet='@()[]"., xbig=>&+*/^-01\\é\n\ud800', max_size=60))
def test_every_template_has_a_text_in_time(template: str) -> None:
    evaluate_in_time(template)


def test_layouts_of_people_are_read_in_time() -> None:
    evaluate_in_time(f'@(parse_datetime("{"1" * 61}x", "{"DM" * 20}"))')
    evaluate_in_time(f'@(foreach(xs, (x) => parse_datetime("{"1" * 99}" & x, "{"DM" * 90}" & x)))')
    evaluate_in_time(f'@(parse_datetime("1", "{"D-" * 20_000}"))')
