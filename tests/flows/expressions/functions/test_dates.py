from datetime import UTC, date, datetime, time

import pytest

from flows.environment import Environment
from tests.flows.expressions.evaluating import error_of, text_of, value_of
from tests.flows.expressions.functions.test_tests import match_of

BERLIN = Environment(date_format="DD-MM-YYYY", time_format="tt:mm", timezone="Europe/Berlin")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("now()", "2024-05-17T11:30:15.250000+02:00"),
        ("today()", "2024-05-17"),
        ('date("1.2.2020 at 9")', "2020-02-01"),
        ('date(datetime("2020-01-01T23:30:00Z"))', "2020-01-02"),
        ('datetime(date("1.2.2020"))', "2020-02-01T00:00:00.000000+01:00"),
        ("time(9)", "09:00:00.000000"),
        ("time(24)", "00:00:00.000000"),
        ('time(datetime("2020-01-01T23:30:00Z"))', "23:30:00.000000"),
        ('format_date("1.2.2020")', "01-02-2020"),
        ('format_date("1.2.2020", "YYYY/M/D")', "2020/2/1"),
        ('format_datetime("2020-07-01T10:00:00Z")', "01-07-2020 12:00"),
        ('format_datetime("2020-07-01T10:00:00Z", "h:mm aa", "Asia/Tokyo")', "7:00 pm"),
        ('format_time("7:05 pm", "tt.mm")', "19.05"),
        ('parse_datetime("2020/7/1 9:05", "YYYY/M/D t:mm")', "2020-07-01T09:05:00.000000+02:00"),
        ('parse_datetime("2020/7/1", "YYYY/M/D", "Asia/Tokyo")', "2020-07-01T00:00:00.000000+09:00"),
        ('parse_time("9:05 pm", "h:mm aa")', "21:05:00.000000"),
        ("datetime_from_epoch(0.5)", "1970-01-01T01:00:00.500000+01:00"),
        ('epoch("1970-01-02T00:00:00.25Z")', "86400.25"),
        ('epoch("1969-12-31T23:59:58.5Z")', "-1.5"),
        ('datetime_add("31.1.2023", 1, "M")', "2023-03-03T00:00:00.000000+01:00"),
        ('datetime_add("29.2.2024", 1, "Y")', "2025-03-01T00:00:00.000000+01:00"),
        ('datetime_add("31.12.2023", -13, "M")', "2022-12-01T00:00:00.000000+01:00"),
        ('datetime_add("30.3.2024 02:30", 1, "D")', "2024-03-31T03:30:00.000000+02:00"),
        ('datetime_add("30.3.2024 12:00", 24, "h")', "2024-03-31T13:00:00.000000+02:00"),
        ('datetime_add("1.1.2024", -2, "W")', "2023-12-18T00:00:00.000000+01:00"),
        ('datetime_diff("30.3.2024 12:00", "31.3.2024 12:00", "h")', "23"),
        ('datetime_diff("30.3.2024 23:00", "31.3.2024 01:00", "D")', "1"),
        ('datetime_diff("20.1.2024", "1.1.2024", "W")', "-2"),
        ('datetime_diff("31.1.2024", "1.3.2025", "M")', "14"),
        ('datetime_diff("31.12.2024", "1.1.2025", "Y")', "1"),
        ('datetime_diff("1.1.2024 10:00:59", "1.1.2024 10:00", "m")', "0"),
        ('replace_time("1.2.2020 10:00", "5:30 pm")', "2020-02-01T17:30:00.000000+01:00"),
        ('tz("1.2.2020")', "Europe/Berlin"),
        ('tz("2020-02-01T10:00:00Z")', "UTC"),
        ('tz("2020-02-01T10:00:00-05:00")', "-05:00"),
        ('tz_offset("1.2.2020")', "+0100"),
        ('tz_offset("2020-02-01T10:00:00Z")', "+0000"),
        ("date_from_parts(2023, 2, 30)", "2023-03-02"),
        ("time_from_parts(23, 59, 58)", "23:59:58.000000"),
        ('weekday("4.2.2024")', "0"),
        ('week_number("31.12.2022")', "53"),
        ('week_number("1.1.2023")', "1"),
        ('legacy_add("1.2.2020", 2)', "2020-02-03T00:00:00.000000+01:00"),
        ('legacy_add(-1, "1.2.2020")', "2020-01-31T00:00:00.000000+01:00"),
        ('legacy_add("2", 0.5)', "2.5"),
    ],
)
def test_date_functions_give_their_documented_values(expression, expected):
    assert text_of(expression, BERLIN) == expected


@pytest.mark.parametrize(
    "expression",
    [
        'date("31.2.2020")',
        "datetime(5)",
        "time(25)",
        "time(-1)",
        'format_date("1.2.2020", "tt")',
        'format_time("10:00", "YYYY")',
        'format_datetime("1.2.2020", "YYYY", "Mars/Base")',
        'format_datetime("1.2.2020", "YYYY", "../etc")',
        'parse_datetime("2020", "YYYY-MM-DD")',
        'parse_datetime("x", "QQ")',
        "datetime_from_epoch(10 ^ 10)",
        'datetime_add("1.2.2020", 2147483647, "Y")',
        'datetime_add("1.2.2020", -2147483648, "D")',
        'datetime_add("1.2.2020", 1, "x")',
        'datetime_diff("1.2.2020", "1.2.2020", "d")',
        "date_from_parts(2020, 13, 1)",
        "date_from_parts(0, 1, 1)",
        "time_from_parts(24, 0, 0)",
        'legacy_add("1.2.2020", "1.2.2020")',
    ],
)
def test_date_functions_refuse_invalid_arguments(expression):
    assert error_of(expression, BERLIN).startswith("error calling ")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("boolean(time(0))", False),
        ("boolean(time(1))", True),
        ("boolean(date_from_parts(1, 5, 5))", False),
        ("boolean(today())", True),
    ],
)
def test_truth_of_dates_and_times(expression, expected):
    assert value_of(expression) is expected


def test_values_are_dates_and_times():
    assert value_of("today()") == date(2024, 5, 17)
    assert value_of('time("10:30")') == time(10, 30)
    assert value_of('datetime("2020-01-01T00:00:00Z")') == datetime(2020, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "match"),
    [
        ('has_date("on 1.2.2020")', "2020-02-01T11:30:15.250000+01:00"),
        ('has_date("on 1.2.2020 at 9:15")', "2020-02-01T09:15:00.000000+01:00"),
        ('has_date("soon")', None),
        ('has_date_lt("1.2.2020", "2.2.2020")', "2020-02-01T11:30:15.250000+01:00"),
        ('has_date_lt("2.2.2020", "2.2.2020")', None),
        ('has_date_eq("2020-02-01T23:30:00Z", "2.2.2020")', "2020-02-01T23:30:00.000000Z"),
        ('has_date_gt("3.2.2020", "2.2.2020")', "2020-02-03T11:30:15.250000+01:00"),
        ('has_time("at 7 pm or 8 pm")', "19:00:00.000000"),
        ('has_time("25:00")', None),
    ],
)
def test_tests_on_dates_match_as_documented(expression, match):
    assert match_of(expression, BERLIN) == match


def test_a_bound_that_is_no_date_is_an_error():
    assert error_of('has_date_lt("1.2.2020", "soon")', BERLIN).endswith('unable to convert "soon" to a date')
