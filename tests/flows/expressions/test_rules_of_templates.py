"""Templates, rule by rule: what is an expression, what stays as written, and what either evaluation gives."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from flows.environment import Environment
from flows.expressions.evaluator import evaluate_value
from flows.expressions.values import XArray, XError
from tests.flows.expressions.evaluating import StoppedClock, evaluate_template, make_context

CONTEXT = make_context(
    {
        "contact": {"__default__": "Ana", "name": "Ana", "fields": {"age": 30}},
        "fields": {"age": 30, "día": "lunes", "_x1": "under"},
        "list": [1, [2, 3]],
        "nothing": None,
        "long": "ab" * 6000,
    }
)


def value_of_template(template: str) -> Any:
    return evaluate_value(template, CONTEXT, Environment(), StoppedClock()).value


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("Hi @contact, you are @fields.age!", "Hi Ana, you are 30!"),
        ("@CONTACT.Name", "Ana"),
        ("@contact.name.", "Ana."),
        ("@contact.name...?", "Ana...?"),
        ("@contact..name", "Ana..name"),
        ("@contact-name @contact's", "Ana-name Ana's"),
        ("@contact_name @contacts", "@contact_name @contacts"),
        ("@fields.día, @fields._x1", "lunes, under"),
        ("me@example.com @hello @hello.name", "me@example.com @hello @hello.name"),
        ("@list.0 @list[0]", "1 [1, [2, 3]][0]"),
        ("@nothing|@(nothing)", "|"),
        ("@@contact @@@contact @@", "@contact @Ana @"),
        ("@ alone, and at the end @", "@ alone, and at the end @"),
        ("@1st @😀 @-", "@1st @😀 @-"),
        ("@true @upper", "@true @upper"),
        ("@(1 + 2)@(3)", "33"),
        ("@( 1+2 )!", "3!"),
        ('@("a) b" & "(")', "a) b("),
        (r'@("say \"x)\"")', 'say "x)"'),
        ("@((1 + 2) * (3))", "9"),
        ("x @(1 + 2", "x @(1 + 2"),
        ("@(contact.name @contact", "@(contact.name @contact"),
        ("@(UPPER(contact))", "ANA"),
        ('@("@contact")', "@contact"),
        ("", ""),
    ],
)
def test_a_template_is_text_with_expressions(template: str, text: str) -> None:
    result = evaluate_template(template, CONTEXT)
    assert (result.text, result.errors) == (text, [])


@pytest.mark.parametrize(
    ("template", "text", "errors"),
    [
        ("a @contact.age b", "a  b", ["error evaluating @contact.age: object has no property 'age'"]),
        ("@list.1.0", "", ["error evaluating @list.1.0: syntax error at 1.0"]),
        ("@nothing.x", "", ["error evaluating @nothing.x: null doesn't support lookups"]),
        ("@()", "", ["error evaluating @(): syntax error at "]),
        (
            "@(1 / 0) and @(nope) and @(1)",
            " and  and 1",
            [
                "error evaluating @(1 / 0): division by zero",
                "error evaluating @(nope): context has no property 'nope'",
            ],
        ),
        ("@(nope(1))", "", ["error evaluating @(nope(1)): nope is not a function"]),
        ("@(word())", "", ["error evaluating @(word()): error calling word(...): need 2 to 3 argument(s), got 0"]),
        ("@(min())", "", ["error evaluating @(min()): error calling min(...): need at least 1 argument(s), got 0"]),
        ("@(upper())", "", ["error evaluating @(upper()): error calling upper(...): need 1 argument(s), got 0"]),
        ('@("x" + 1)', "", ['error evaluating @("x" + 1): unable to convert "x" to a number']),
        ("@(list + 1)", "", ["error evaluating @(list + 1): unable to convert array to a number"]),
        ("@(upper + 1)", "", ["error evaluating @(upper + 1): unable to convert upper(...) to a number"]),
        ("@(now() + 1)", "", ["error evaluating @(now() + 1): unable to convert datetime to a number"]),
        ("@(list[9])", "", ["error evaluating @(list[9]): index 9 out of range for 2 items"]),
        ("@(list[-3])", "", ["error evaluating @(list[-3]): index -3 out of range for 2 items"]),
    ],
)
def test_an_expression_in_error_leaves_nothing_and_is_told(template: str, text: str, errors: list[str]) -> None:
    result = evaluate_template(template, CONTEXT)
    assert (result.text, list(result.errors)) == (text, errors)
    assert result.error_text == ", ".join(errors)


@pytest.mark.parametrize(
    ("template", "value"),
    [
        (" @fields.age ", Decimal(30)),
        ("@(1 = 1)", True),
        ("@nothing", None),
        ("@(nothing)\n", None),
        ("@fields.age.", "30."),
        ("@(1)@(2)", "12"),
        ("  plain  ", "plain"),
        ("@@fields.age", "@fields.age"),
        ("@hello", "@hello"),
        ("@(1", "@(1"),
    ],
)
def test_a_template_that_is_one_expression_has_its_value(template: str, value: Any) -> None:
    found = value_of_template(template)
    assert (type(found), found) == (type(value), value)


def test_values_may_be_lists_functions_and_errors() -> None:
    assert isinstance(value_of_template("@list"), XArray)
    assert value_of_template("@(upper)").name == "upper"
    assert value_of_template("@contact").default == "Ana"
    assert value_of_template("@(1 / 0)") == XError("division by zero")
    assert value_of_template("x@(1 / 0)") == "x"


def test_long_texts_are_cut_with_dots_unless_told() -> None:
    assert evaluate_template("@long!", CONTEXT).text == ("ab" * 6000)[:9997] + "..."
    assert len(evaluate_template("@long!", CONTEXT, limit=None).text) == 12_001
    assert len(value_of_template("@long")) == 12_000
    assert len(value_of_template("@long!")) == 10_000


def test_texts_of_expressions_can_be_escaped_and_literal_text_never_is() -> None:
    result = evaluate_template("a @contact b @(1 + 1)@nothing", CONTEXT, escape="<{}>".format)
    assert result.text == "a <Ana> b <2><>"
