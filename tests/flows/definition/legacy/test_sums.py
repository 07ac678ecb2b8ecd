"""Old sums, which took dates and times as well as numbers."""

from __future__ import annotations

import pytest

from flows.definition.legacy.expressions import migrate_expression


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1 + 2", "1 + 2"),
        ("ABS(1) - 2", "abs(1) - 2"),
        ("MAX(1, 2) * 3 + 4", "max(1, 2) * 3 + 4"),
        ("contact.age + 1", "legacy_add(fields.age, 1)"),
        ("1 - contact.age", "legacy_add(1, -fields.age)"),
        ("contact.age - 2 ^ 3", "legacy_add(fields.age, -(2 ^ 3))"),
        ("1.5 + 1", "legacy_add(1.5, 1)"),
    ],
)
def test_numbers_are_added_and_what_is_unknown_is_left_to_run_time(old: str, new: str) -> None:
    assert migrate_expression(old) == new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("NOW() + 3", 'datetime_add(now(), 3, "D")'),
        ("NOW() - 3", 'datetime_add(now(), -3, "D")'),
        ("NOW() + 3 + 4", 'datetime_add(datetime_add(now(), 3, "D"), 4, "D")'),
        ("TODAY() + 3", 'format_date(datetime_add(today(), 3, "D"))'),
        (
            "date.today - 1 - 1",
            'format_date(datetime_add(format_date(datetime_add(format_date(today()), -1, "D")), -1, "D"))',
        ),
        ("TODAY() + contact.days", "legacy_add(today(), fields.days)"),
    ],
)
def test_days_are_added_to_dates(old: str, new: str) -> None:
    assert migrate_expression(old) == new


def test_dates_stay_values_where_they_are_compared_and_not_shown() -> None:
    assert migrate_expression("date.today + 3", raw_dates=True) == 'datetime_add(today(), 3, "D")'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("TODAY() + TIME(1, 2, 3)", "replace_time(today(), time_from_parts(1, 2, 3))"),
        ('contact.due + TIMEVALUE("10:30")', 'replace_time(fields.due, time("10:30"))'),
        (
            'NOW() + TIMEVALUE("2:30")',
            'datetime_add(now(), format_time(time("2:30"), "tt") * 60 + format_time(time("2:30"), "m"), "m")',
        ),
    ],
)
def test_times_are_added_to_dates_and_moments(old: str, new: str) -> None:
    assert migrate_expression(old) == new
