"""Old expressions in the new language: grammar, operators, texts."""

from __future__ import annotations

import pytest

from flows.definition.legacy.expressions import migrate_expression
from flows.definition.legacy.operands import LegacyExpressionError
from flows.expressions.parser import parse_expression


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1", "1"),
        ("2.50", "2.50"),
        ("True", "true"),
        ("1&2*3", "1 & 2 * 3"),
        ("(1 + 2) * 3", "(1 + 2) * 3"),
        ("2 ^ 3 / 4", "2 ^ 3 / 4"),
        ("1 <> 2", "1 != 2"),
        ("1 >= 2 = TRUE", "1 >= 2 = true"),
        ('"a"&"b"', '"a" & "b"'),
        ("-1", "-1"),
        ("--1", "--1"),
        (" UPPER ( contact.name ) ", "upper(contact.name)"),
        ("foo.Bar", "foo.bar"),
    ],
)
def test_what_both_languages_have_is_only_written_in_the_new_way(old: str, new: str) -> None:
    assert migrate_expression(old) == new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"say ""hi"""', '"say \\"hi\\""'),
        ('""', '""'),
        ('"(\\w+)"', '"(\\w+)"'),
        ('"a\\nb"', '"a\\\\nb"'),
        ('"\\"', '"\\\\"'),
        ('"(("', '"(("'),
        ('SUBSTITUTE(contact, "\\", "/")', 'replace(contact, "\\\\", "/")'),
    ],
)
def test_texts_stand_for_the_same_characters(old: str, new: str) -> None:
    assert migrate_expression(old) == new
    assert str(parse_expression(new)) == str(parse_expression(migrate_expression(old)))


@pytest.mark.parametrize(
    "old", ["", "1 +", "(1", "1)", "1, 2", "UPPER(", "UPPER(,)", "_x", "1.1.0", '"a', "a b", "1 % 2"]
)
def test_what_is_no_expression_is_refused(old: str) -> None:
    with pytest.raises(LegacyExpressionError):
        migrate_expression(old)


@pytest.mark.parametrize("old", ["(" * 101 + "1" + ")" * 101, "UPPER(" * 101 + "1" + ")" * 101])
def test_what_is_nested_too_deep_is_refused(old: str) -> None:
    with pytest.raises(LegacyExpressionError):
        migrate_expression(old)


def test_what_becomes_too_long_is_refused() -> None:
    old = "NOW()"
    for _ in range(20):
        old = f"NOW() + TIME(HOUR({old}), 0, 0)"

    with pytest.raises(LegacyExpressionError):
        migrate_expression(old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("contact.due < date.today", "epoch(fields.due) < epoch(format_date(today()))"),
        ("date.now >= contact.due", "epoch(now()) >= epoch(fields.due)"),
        ("contact.age > 18", "fields.age > 18"),
    ],
)
def test_dates_are_compared_as_numbers(old: str, new: str) -> None:
    assert migrate_expression(old) == new
