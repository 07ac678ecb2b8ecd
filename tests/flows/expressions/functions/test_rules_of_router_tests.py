"""Router tests, rule by rule: what matches, and with which match."""

from __future__ import annotations

import pytest

from flows.environment import Environment
from tests.flows.expressions.evaluating import outcome_of

DAY_FIRST = Environment(
    date_format="DD-MM-YYYY", timezone="Africa/Kigali", allowed_languages=("eng",), default_country="RW"
)


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ("has_error(1 / 0)", 'true {"match":"division by zero"}'),
        ("has_error(missing.part)", 'true {"match":"context has no property \'missing\'"}'),
        ('has_error("fine")', 'false {"match":""}'),
        ("has_error(null)", 'false {"match":""}'),
        ("has_error()", "error"),
    ],
)
def test_errors_are_found_as_such(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        (r'has_text("  good day \n")', 'true {"match":"good day"}'),
        ("has_text(7.50)", 'true {"match":"7.5"}'),
        (r'has_text("\t ")', 'false {"match":""}'),
        ("has_text(null)", 'false {"match":""}'),
        ("has_text(1 / 0)", "error"),
        ('has_value(" x ")', 'true {"match":"x"}'),
        ('has_value("")', 'false {"match":""}'),
        ('has_text("a", "b")', "error"),
    ],
)
def test_any_text_is_a_text_without_its_space(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('has_only_text("Yes", "Yes")', 'true {"match":"Yes"}'),
        ('has_only_text("Yes", "yes")', 'false {"match":""}'),
        ('has_only_text("Yes ", "Yes")', 'false {"match":""}'),
        ('has_only_text("", "")', 'true {"match":""}'),
        ('has_only_text(1.50, "1.5")', 'true {"match":"1.5"}'),
        ('has_only_text(null, "")', 'true {"match":""}'),
        ('has_only_text("Yes")', "error"),
    ],
)
def test_only_text_is_exactly_equal(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('has_beginning("  REPORT 12", "report")', 'true {"match":"REPORT"}'),
        ('has_beginning("report", " report ")', 'true {"match":"report"}'),
        ('has_beginning("rep", "report")', 'false {"match":""}'),
        ('has_beginning("Ñandú runs", "ñan")', 'true {"match":"Ñan"}'),
        ('has_beginning("a", "")', 'false {"match":""}'),
        ('has_beginning("", "")', 'false {"match":""}'),
        ('has_beginning("my report", "report")', 'false {"match":""}'),
    ],
)
def test_a_beginning_ignores_case_and_outer_space(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('has_any_word("Red or BLUE or red", "red blue")', 'true {"match":"Red BLUE red"}'),
        ('has_any_word("Red-blue", "blue")', 'true {"match":"blue"}'),
        ('has_any_word("reddish", "red")', 'false {"match":""}'),
        ('has_any_word("it\'s", "its")', 'false {"match":""}'),
        ('has_any_word("I ❤ you", "❤")', 'true {"match":"❤"}'),
        ('has_any_word("a b", "")', 'false {"match":""}'),
        ('has_any_word("", "a")', 'false {"match":""}'),
        ('has_any_word("snake_case", "case")', 'false {"match":""}'),
        ('has_any_word("room 12", "12")', 'true {"match":"12"}'),
        ('has_any_word("a,b", "b, c")', 'true {"match":"b"}'),
    ],
)
def test_any_word_gives_all_words_that_match(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('has_all_words("Blue and red and blue", "red blue")', 'true {"match":"Blue red blue"}'),
        ('has_all_words("blue", "red blue")', 'false {"match":""}'),
        ('has_all_words("blue blue", "blue")', 'true {"match":"blue blue"}'),
        ('has_all_words("any", "")', 'true {"match":""}'),
        ('has_all_words("", "x")', 'false {"match":""}'),
    ],
)
def test_all_words_may_come_in_any_order(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('has_phrase("Take the Red, pill!", "red pill")', 'true {"match":"Red pill"}'),
        ('has_phrase("red and pill", "red pill")', 'false {"match":""}'),
        ('has_phrase("red red pill", "red pill")', 'false {"match":""}'),
        ('has_phrase("the red red pill red pill", "red pill")', 'true {"match":"red pill"}'),
        ('has_phrase("anything", "")', 'true {"match":""}'),
        ('has_phrase("anything", "...")', 'true {"match":""}'),
        ('has_phrase("", "red")', 'false {"match":""}'),
        ('has_only_phrase("Red, Pill!", "red pill")', 'true {"match":"Red Pill"}'),
        ('has_only_phrase("red pill now", "red pill")', 'false {"match":""}'),
        ('has_only_phrase("red", "red pill")', 'false {"match":""}'),
        ('has_only_phrase("pill red", "red pill")', 'false {"match":""}'),
        ('has_only_phrase(" ! ", "")', 'true {"match":""}'),
    ],
)
def test_phrases_are_words_in_a_row(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        (
            r'has_pattern("Call 555-0100 now", "(\d+)-(\d+)")',
            'true {"extra":{"0":"555-0100","1":"555","2":"0100"},"match":"555-0100"}',
        ),
        (r'has_pattern("first\nSecond", "^second$")', 'true {"extra":{"0":"Second"},"match":"Second"}'),
        ('has_pattern("ABC", " b ")', 'true {"extra":{"0":"B"},"match":"B"}'),
        ('has_pattern(" x", "^x")', 'false {"match":""}'),
        ('has_pattern("b", "(a)?b")', 'true {"extra":{"0":"b","1":""},"match":"b"}'),
        ('has_pattern("abc", "[")', "error"),
        ('has_pattern("abc", "")', 'true {"extra":{"0":""},"match":""}'),
        ('has_pattern("abc", "z")', 'false {"match":""}'),
    ],
)
def test_patterns_ignore_case_and_know_lines(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('has_number("I have 3 cats and 2 dogs")', 'true {"match":3}'),
        ('has_number("-7 degrees")', 'true {"match":-7}'),
        ('has_number("minus - 7")', 'true {"match":7}'),
        ('has_number("1-15")', 'true {"match":1}'),
        ('has_number("24ans")', 'true {"match":24}'),
        ('has_number("hi.51")', 'true {"match":51}'),
        ('has_number("hi .51")', 'true {"match":0.51}'),
        ('has_number("costs 1,234,567.80 RWF")', 'true {"match":1234567.8}'),
        ('has_number("1.2.3")', 'true {"match":1.2}'),
        ('has_number("٤٢")', 'true {"match":42}'),
        ('has_number("৫.৫")', 'true {"match":5.5}'),
        ('has_number("no. five")', 'false {"match":""}'),
        ('has_number("")', 'false {"match":""}'),
        ("has_number(12.30)", 'true {"match":12.3}'),
        ('has_number("10000000000000000000000000000000000000001")', 'false {"match":""}'),
    ],
)
def test_the_first_number_of_a_text_counts(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('has_number_lt("12 or 7", 10)', 'true {"match":7}'),
        ('has_number_lt("10", 10)', 'false {"match":""}'),
        ('has_number_lte("11 or 10", 10)', 'true {"match":10}'),
        ('has_number_lte("11", 10)', 'false {"match":""}'),
        ('has_number_eq("1, 2 and 3", 2)', 'true {"match":2}'),
        ('has_number_eq("2.0", "2")', 'true {"match":2}'),
        ('has_number_eq("22", 2)', 'false {"match":""}'),
        ('has_number_gte("9 or 10", 10)', 'true {"match":10}'),
        ('has_number_gte("9.99", 10)', 'false {"match":""}'),
        ('has_number_gt("9 or 10 or 11", 10)', 'true {"match":11}'),
        ('has_number_gt("10", 10)', 'false {"match":""}'),
        ('has_number_between("1 or 5 or 7", 4, 6)', 'true {"match":5}'),
        ('has_number_between("4", 4, 6)', 'true {"match":4}'),
        ('has_number_between("6", 4, 6)', 'true {"match":6}'),
        ('has_number_between("6.01", 4, 6)', 'false {"match":""}'),
        ('has_number_between("5", 6, 4)', 'false {"match":""}'),
        ('has_number_lt("x", "y")', "error"),
        ('has_number_lt("5", null)', "error"),
        ('has_number_between("5", 1)', "error"),
    ],
)
def test_comparisons_take_the_first_number_that_satisfies_them(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('has_date("on 3/2/2001 please")', 'true {"match":"2001-02-03T11:30:15.250000+02:00"}'),
        ('has_date("3/2/2001 14:05")', 'true {"match":"2001-02-03T14:05:00.000000+02:00"}'),
        ('has_date("2001-02-03T14:05:00Z")', 'true {"match":"2001-02-03T14:05:00.000000Z"}'),
        ('has_date("30/2/2001")', 'false {"match":""}'),
        ('has_date("tomorrow")', 'false {"match":""}'),
        ('has_date_lt("3/2/2001", "4/2/2001")', 'true {"match":"2001-02-03T11:30:15.250000+02:00"}'),
        ('has_date_lt("4/2/2001", "4/2/2001")', 'false {"match":""}'),
        ('has_date_eq("4/2/2001 23:59", "4/2/2001")', 'true {"match":"2001-02-04T23:59:00.000000+02:00"}'),
        ('has_date_eq("2001-02-03T22:30:00Z", "4/2/2001")', 'true {"match":"2001-02-03T22:30:00.000000Z"}'),
        ('has_date_eq("3/2/2001", "4/2/2001")', 'false {"match":""}'),
        ('has_date_gt("5/2/2001", "4/2/2001")', 'true {"match":"2001-02-05T11:30:15.250000+02:00"}'),
        ('has_date_gt("4/2/2001", "4/2/2001")', 'false {"match":""}'),
        ('has_date_gt("x", "4/2/2001")', 'false {"match":""}'),
        ('has_date_gt("4/2/2001", "x")', "error"),
        ('has_time("see you at 7:15 pm")', 'true {"match":"19:15:00.000000"}'),
        ('has_time("7")', 'true {"match":"07:00:00.000000"}'),
        ('has_time("25:00")', 'false {"match":""}'),
        ('has_time("noon")', 'false {"match":""}'),
    ],
)
def test_dates_are_found_with_a_time_of_day(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('has_email("write to <Ana.Lopez+x@Mail.Example.com>!")', 'true {"match":"Ana.Lopez+x@Mail.Example.com"}'),
        ('has_email("ana@example")', 'false {"match":""}'),
        ('has_email("ana@exa_mple.co.rw.")', 'true {"match":"ana@exa_mple.co.rw"}'),
        ('has_email("зоя@почта.рф")', 'true {"match":"зоя@почта.рф"}'),
        ('has_email(".ana@example.com")', 'true {"match":"ana@example.com"}'),
        ('has_email("ana at example.com")', 'false {"match":""}'),
        ('has_email("ana@example..com")', 'false {"match":""}'),
    ],
)
def test_addresses_of_mail_are_found(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('has_phone("call 0788 123 456 today")', 'true {"match":"+250788123456"}'),
        ('has_phone("call +1 (206) 555-0100")', 'true {"match":"+12065550100"}'),
        ('has_phone("12065550100")', 'true {"match":"+12065550100"}'),
        ('has_phone("206-555-0100", "US")', 'true {"match":"+12065550100"}'),
        ('has_phone("206-555-0100", "")', 'false {"match":""}'),
        ('has_phone("12345")', 'false {"match":""}'),
        ('has_phone("none")', 'false {"match":""}'),
    ],
)
def test_phone_numbers_are_found_for_a_country(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        (
            'has_group(array(object("uuid", "u-1", "name", "Mums"), object("uuid", "u-2", "name", "Dads")), "u-2")',
            'true {"match":{"name":"Dads","uuid":"u-2"}}',
        ),
        ('has_group(array(object("uuid", "u-1", "name", "Mums")), "u-2", "Mums")', 'false {"match":""}'),
        ('has_group(array("u-1"), "u-1")', "error"),
        ('has_group(null, "u-1")', 'false {"match":""}'),
        ('has_category(object("category", "Yes"), "No", "Yes")', 'true {"match":"Yes"}'),
        ('has_category(object("category", "Yes"), "yes")', 'false {"match":""}'),
        ('has_category(object("category", "Yes"))', "error"),
        ('has_category(object("value", 1), "Yes")', "error"),
        ('has_category(null, "Yes")', "error"),
    ],
)
def test_groups_and_categories_are_compared_exactly(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('if(has_text("x"), 1, 2)', "1"),
        ('if(has_text(""), 1, 2)', "2"),
        ('has_text("x") & ""', '"true"'),
        ('has_number("x") & ""', '"false"'),
        ('has_number("7").match + 1', "8"),
        ('has_text("").match', '""'),
        (r'has_pattern("b1", "b(\d)").extra["1"]', '"1"'),
        ('has_text("x").extra', "error"),
        ('json(has_text("x"))', r'"{\"match\":\"x\"}"'),
        ('HAS_TEXT("x")', 'true {"match":"x"}'),
        ('foreach(array("a 1", "b"), has_number)', '[{"match":1},{"match":""}]'),
    ],
)
def test_outcomes_stand_for_their_truth(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome
