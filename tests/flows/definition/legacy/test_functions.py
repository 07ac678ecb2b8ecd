"""Functions of old expressions and their new counterparts."""

from __future__ import annotations

import pytest

from flows.definition.legacy import functions
from flows.definition.legacy.expressions import migrate_expression
from flows.definition.legacy.operands import LegacyExpressionError
from flows.environment import Environment
from flows.expressions.evaluator import evaluate_text
from flows.expressions.functions.registry import find_function
from flows.expressions.values import XObject
from tests.flows.corpora.case_values import standing_clock

LONG = "9" * 5000
"""More digits than `int()` reads."""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LEN(contact)", "text_length(contact)"),
        ("PROPER(contact)", "title(contact)"),
        ("REPT(contact, 2)", "repeat(contact, 2)"),
        ("DATE(2020, 1, 2)", "date_from_parts(2020, 1, 2)"),
        ("RANDBETWEEN(1, 2)", "rand_between(1, 2)"),
        ("DAYS(date.now, contact.due)", 'datetime_diff(fields.due, now(), "D")'),
        ('DATEDIF(contact.due, date.now, "m")', 'datetime_diff(fields.due, now(), "M")'),
        ("YEAR(contact.due)", 'format_date(fields.due, "YYYY")'),
        ("HOUR(contact.due)", 'format_datetime(fields.due, "tt")'),
        ("EDATE(contact.due, 2)", 'datetime_add(fields.due, 2, "M")'),
        ("LEFT(contact, 3)", "text_slice(contact, 0, 3)"),
        ("RIGHT(contact, 3)", "text_slice(contact, -3)"),
        ("LEFT(contact, -3)", "text_slice(contact, 0, -3)"),
        ("RIGHT(contact, -3)", "text_slice(contact, 3)"),
        ("WEEKDAY(date.now)", "weekday(now()) + 1"),
        ("FIRST_WORD(step)", "word(input, 0)"),
        ("REGEX_GROUP(step, contact.pattern, 1)", "regex_match(input, fields.pattern, 1)"),
        ("SMOKE(1)", "smoke(1)"),
    ],
)
def test_functions_are_renamed_and_their_arguments_rearranged(old: str, new: str) -> None:
    assert migrate_expression(old) == new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("WORD(step, 1)", "word(input, 0)"),
        ("WORD(step, -1)", "word(input, -1)"),
        ("WORD(step, contact.n)", "word(input, fields.n - 1)"),
        (f"WORD(step, {LONG})", f"word(input, {LONG} - 1)"),
        (f"WORD_SLICE(step, 1, -{LONG})", f"word_slice(input, 0, -{LONG} - 1)"),
        ("WORD(step, 2, TRUE)", 'word(input, 1, " \\t")'),
        ("WORD(step, 2, FALSE)", "word(input, 1, NULL)"),
        ("WORD_COUNT(step, contact.x)", 'word_count(input, if(fields.x, " \\t", NULL))'),
        ('FIELD(step, 2, ",")', 'field(input, 1, ",")'),
        ("WORD_SLICE(step, 2)", "word_slice(input, 1)"),
        ("WORD_SLICE(step, 2, 4)", "word_slice(input, 1, 3)"),
        ("WORD_SLICE(step, 2, 0)", "word_slice(input, 1, -1)"),
        ("WORD_SLICE(step, 2, -1)", "word_slice(input, 1, word_count(input) - 1)"),
        ("WORD_SLICE(step, -2)", "word_slice(input, word_count(input) - 2)"),
    ],
)
def test_indexes_begin_with_zero(old: str, new: str) -> None:
    assert migrate_expression(old) == new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SUM(1, 2)", "1 + 2"),
        ("SUM(1, 2) * 3", "(1 + 2) * 3"),
        ("SUM(1)", "1"),
        ('CONCATENATE("a", 1 + 2)', '"a" & 1 + 2'),
        ("POWER(1 + 1, 2)", "(1 + 1) ^ 2"),
        ("POWER(2, POWER(2, 3))", "2 ^ (2 ^ 3)"),
        ("EXP(2)", "2.718281828459045 ^ 2"),
        ("WEEKDAY(date.now) * 2", "(weekday(now()) + 1) * 2"),
        ("RIGHT(step, SUM(1, 2))", "text_slice(input, -(1 + 2))"),
    ],
)
def test_functions_that_become_operators_hold_together(old: str, new: str) -> None:
    assert migrate_expression(old) == new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("TRUE()", "true"),
        ("FALSE()", "false"),
        ("IF(TRUE)", "if(true, 0, false)"),
        ("IF(TRUE, 1)", "if(true, 1, false)"),
        ("IF(TRUE, 1, 2)", "if(true, 1, 2)"),
        ("FIXED(step)", "format_number(input, 2)"),
        ("FIXED(step, 1, TRUE)", "format_number(input, 1, false)"),
        ("FIXED(step, 1, contact.x)", "format_number(input, 1, if(fields.x, false, true))"),
        ("FIXED(step, -2)", "format_number(round(input, -2), 0)"),
        ("ROUNDDOWN(-1.5, 0)", "round_up(-1.5, 0)"),
        ("ROUNDUP(1.5, 0)", "round_up(1.5, 0)"),
    ],
)
def test_what_was_left_out_or_meant_the_opposite_is_written_out(old: str, new: str) -> None:
    assert migrate_expression(old) == new


@pytest.mark.parametrize(
    "old",
    [
        *("DAY()", "DAYS(1)", "SUM()", "POWER(1)", "WORD(1, 2, 3, 4)", "TRUE(1)", "FIXED()", "RIGHT(step)"),
        'WORD("a b", 0)',
    ],
)
def test_calls_without_a_counterpart_are_refused(old: str) -> None:
    with pytest.raises(LegacyExpressionError):
        migrate_expression(old)


def test_every_new_name_is_that_of_a_function() -> None:
    names = {*functions.RENAMED.values(), *(name for name, _ in functions.REARRANGED.values())}

    assert [name for name in names if find_function(name) is None] == []


@pytest.mark.parametrize(
    ("old", "text"),
    [
        ('WORD("one two three", 2)', "two"),
        ('WORD_SLICE("one two three four", 2, -1)', "two three"),
        ('WORD("a-b c", 1, TRUE)', "a-b"),
        ('RIGHT("abcdef", 2)', "ef"),
        ('RIGHT("abcdef", 0)', ""),
        ('LEFT("abcdef", -2)', "abcd"),
        ('RIGHT("abcdef", -2)', "cdef"),
        ("MOD(-3, 2)", "1"),
        ("MOD(3, -2)", "-1"),
        ("2 * MOD(-3, -2)", "-2"),
        ("FIXED(1234.567, 1, TRUE)", "1234.6"),
        ("SUM(1, 2) * 3", "9"),
        ("POWER(2, POWER(2, 3))", "256"),
        ('WEEKDAY(DATEVALUE("2015-08-15"))', "7"),
        ("INT(-8.9)", "-9"),
        ('DATEDIF("2020-01-01", "2020-01-03", "d")', "2"),
        ('DATEDIF("2001-06-16", "2002-08-15", "ym")', "1"),
        ('DATEDIF("2001-06-16", "2002-08-15", "YD")', "60"),
        ('DATEDIF("2001-06-16", "2002-08-15", "md")', "30"),
        ('SUBSTITUTE("a b a", "a", "c")', "c b c"),
    ],
)
def test_migrated_calls_give_what_the_old_ones_gave(old: str, text: str) -> None:
    template = f"@({migrate_expression(old)})"

    result = evaluate_text(template, XObject({}), Environment(), standing_clock("2020-02-03T04:05:06Z"))

    assert (result.text, result.errors) == (text, [])
