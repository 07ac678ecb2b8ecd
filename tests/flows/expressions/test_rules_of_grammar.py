"""The grammar and its evaluation, rule by rule."""

from __future__ import annotations

import pytest

from tests.flows.expressions.evaluating import outcome_of


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("2 * 3 ^ 2", "18"),
        ("-2 ^ 2", "4"),
        ("2 ^ 3 ^ 2", "64"),
        ("2 ^ -1", "0.5"),
        ("10 - 4 - 3", "3"),
        ("16 / 4 / 2", "2"),
        ("1 & 2 + 3", '"15"'),
        ('"a" & 1 = "a1"', '"afalse"'),
        ("1 + 1 = 2", "true"),
        ("1 < 2 = true", "true"),
        ("true = 1 < 2", "true"),
        ('2 > 1 & "!"', '"true!"'),
        ("--3", "3"),
        ("-(-3)", "3"),
        ('-"4"', "-4"),
        ("1 = 1 = true", "true"),
    ],
)
def test_operators_bind_as_the_grammar_says(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('"2" + "3"', "5"),
        ('"10" > "9"', "true"),
        ('"b" > "a"', "error"),
        ('1 = "1"', "true"),
        ("true != 1", "true"),
        ('1.0 = "1.0"', "false"),
        ("1.0 = 1", "true"),
        ('"a" = "A"', "false"),
        ('null = ""', "true"),
        ('true = "true"', "true"),
        ('array(1) = "[1]"', "true"),
        ('date("2024-01-01") = "2024-01-01"', "true"),
        ('date("2024-01-01") < date("2024-01-02")', "error"),
        ("null < 1", "error"),
        ("true < 2", "error"),
        ("1 & null & true", '"1true"'),
        ("upper = upper", "true"),
        ("upper = lower", "false"),
        ("missing = missing", "error"),
        ('1 / 0 & "x"', "error"),
        ('"x" & 1 / 0', "error"),
    ],
)
def test_operators_convert_what_they_work_on(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('UPPER("a")', '"A"'),
        ("True", "true"),
        ("FALSE", "false"),
        ("Null", "null"),
        ('((Name) => name & NAME)("x")', '"xx"'),
        ('Object("A", 1).a', "1"),
    ],
)
def test_names_ignore_case(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        (r'"a\"b"', r'"a\"b"'),
        (r'"a\nb\tc\rd\\e"', r'"a\nb\tc\rd\\e"'),
        (r'"\u00e9 \U0001F607"', '"é 😇"'),
        (r'"\d+\w"', r'"\\d+\\w"'),
        ('"100%"', '"100%"'),
        ('"(a"', '"(a"'),
        ("'a'", "error"),
    ],
)
def test_texts_are_written_in_double_quotes(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ("007", "7"),
        ("1.50", "1.5"),
        (".5", "error"),
        ("1.", "error"),
        ("1e3", "error"),
        ("1_000", "error"),
        ("123456789012345678901234567890123456", "123456789012345678901234567890123456"),
        ("1234567890123456789012345678901234567", "error"),
    ],
)
def test_numbers_are_plain(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('"abc".v', "error"),
        ('"abc"[0]', "error"),
        ('"abc"()', "error"),
        ("1.1.0", "error"),
        ("null.x", "error"),
        ("true.x", "error"),
        ("true()", "error"),
        ("(1).x", "error"),
        ('("abc")[0]', "error"),
        ("(null).x", "error"),
        ('(upper)("a")', '"A"'),
    ],
)
def test_literals_take_no_lookup_or_call(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('object("a", 1).a', "1"),
        ('object("a", 1).A', "1"),
        ('object("a", 1).b', "error"),
        ('object("a", 1)["A"]', "1"),
        ('object("a", 1)["b"]', "null"),
        ('object("a", null).a', "null"),
        ('object("a", object("b", 2)).a.b', "2"),
        ('object("a", object("b", 2)).a["B"]', "2"),
        ('object("1", "one")[1]', '"one"'),
        ('object("a b", 1)["a b"]', "1"),
        ('array("x", "y").1', '"y"'),
        ('array("x", "y")[0]', '"x"'),
        ('array("x", "y")[-1]', '"y"'),
        ('array("x", "y")[2]', "error"),
        ('array("x", "y")[-3]', "error"),
        ('array("x", "y")["1"]', '"y"'),
        ('array("x", "y")[1.9]', '"y"'),
        ('array("x", "y")["one"]', "error"),
        ('array("x", "y").x', "error"),
        ("array(array(1, 2))[0][1]", "2"),
        ("array(array(1, 2)).0.1", "error"),
        ("array(1)[1 / 0]", "error"),
        ('object("a", 1)[1 / 0]', "error"),
        ("upper.x", "error"),
    ],
)
def test_lookups_by_dot_and_bracket_differ(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ("((x) => x * 2)(4)", "8"),
        ('((x, y) => x & y)("a")', "error"),
        ('((x) => (y) => x & y)("a")("b")', '"ab"'),
        ("((x) => x + 1)(1) * 3", "6"),
        ("(() => 1)()", "error"),
        ('foreach(array("a"), (x) => upper(x) & x)', '["Aa"]'),
        ('array(upper)[0]("a")', '"A"'),
        ('object("f", lower).f("A")', '"a"'),
        ('missing("a")', "error"),
        ('"upper"("a")', "error"),
        ('(1)("a")', "error"),
        ("(x) => x", "null"),
        ('((upper) => upper)("mine")', '"mine"'),
    ],
)
def test_functions_are_values(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ("1 +", "error"),
        ("* 2", "error"),
        ("a b", "error"),
        ("1 2", "error"),
        ('upper("a",)', "error"),
        ("upper(,)", "error"),
        ("5 % 2", "error"),
        ("a..b", "error"),
        (".a", "error"),
        ("[1]", "error"),
        ("{}", "error"),
        ("x => x", "error"),
        ("!true", "error"),
        ("1 == 1", "error"),
        ("1 <> 2", "error"),
    ],
)
def test_what_does_not_follow_the_grammar_is_an_error(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome
