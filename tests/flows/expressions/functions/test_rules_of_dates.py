"""Functions on dates and times, rule by rule."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

import pytest

from flows.environment import Environment
from tests.flows.expressions.evaluating import outcome_of, value_of

DAY_FIRST = Environment(
    date_format="DD-MM-YYYY", timezone="Africa/Kigali", allowed_languages=("eng",), default_country="RW"
)
MONTH_FIRST = Environment(
    date_format="MM-DD-YYYY", time_format="h:mm aa", timezone="America/Los_Angeles", allowed_languages=("eng",)
)


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('date("3-2-2001")', '"2001-02-03"'),
        ('date("it was 3/2/01, or so")', '"2001-02-03"'),
        ('date("3 2 2001")', '"2001-02-03"'),
        ('date("3_2_2001")', '"2001-02-03"'),
        (r'date("3\2\2001")', '"2001-02-03"'),
        ('date("3.2.2001")', '"2001-02-03"'),
        ('date("2001-02-03")', '"2001-02-03"'),
        ('date("2001-02-03 4/5/06")', '"2001-02-03"'),
        ('date("on 2001-02-03")', "error"),
        ('date("2001-2-3")', "error"),
        ('date("3-2-201")', "error"),
        ('date("31/2/2001")', "error"),
        ('date("31/2/2001 and 1/3/2001")', '"2001-03-01"'),
        ('date("3/13/2001")', "error"),
        ('date("13/3/24")', '"2024-03-13"'),
        ('date("13/3/25")', '"1925-03-13"'),
        ('date("13/3/99")', '"1999-03-13"'),
        ('date("3-22001")', "error"),
        ('date("a3-2-2001")', "error"),
        ('date("")', "error"),
        ("date(null)", "error"),
        ("date(20010203)", "error"),
        ('date(datetime("2024-02-01T23:30:00Z"))', '"2024-02-02"'),
    ],
)
def test_dates_are_read_from_text_in_the_order_of_the_environment(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('date("3-2-2001")', '"2001-03-02"'),
        ('date("13-2-2001")', "error"),
        ('date("02/13/99")', '"1999-02-13"'),
        ('datetime("2-3-2001 1:05 pm")', '"2001-02-03T13:05:00.000000-08:00"'),
    ],
)
def test_other_orders_put_other_parts_first(expression: str, outcome: str) -> None:
    assert outcome_of(expression, MONTH_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('datetime("3-2-2001")', '"2001-02-03T00:00:00.000000+02:00"'),
        ('datetime("3-2-2001 10:15")', '"2001-02-03T10:15:00.000000+02:00"'),
        ('datetime("3-2-2001 10:15:20.5")', '"2001-02-03T10:15:20.500000+02:00"'),
        ('datetime("3-2-2001 at 10 pm")', '"2001-02-03T22:00:00.000000+02:00"'),
        ('datetime("10:15 on 3-2-2001")', '"2001-02-03T00:00:00.000000+02:00"'),
        ('datetime("3-2-2001 12 am")', '"2001-02-03T00:00:00.000000+02:00"'),
        ('datetime("3-2-2001 12:30 pm")', '"2001-02-03T12:30:00.000000+02:00"'),
        ('datetime("3-2-2001 24:00")', '"2001-02-03T00:00:00.000000+02:00"'),
        ('datetime("3-2-2001 25:00")', '"2001-02-03T00:00:00.000000+02:00"'),
        ('datetime("2001-02-03T10:15:00Z")', '"2001-02-03T10:15:00.000000Z"'),
        ('datetime("2001-02-03T10:15:00.123456789Z")', '"2001-02-03T10:15:00.123456Z"'),
        ('datetime("2001-02-03T10:15-05:30")', '"2001-02-03T10:15:00.000000-05:30"'),
        ('datetime("2001-02-03T10:15:20")', '"2001-02-03T10:15:20.000000+02:00"'),
        ('datetime("2001-02-03 10:15")', '"2001-02-03T10:15:00.000000+02:00"'),
        ('datetime(date("2001-02-03"))', '"2001-02-03T00:00:00.000000+02:00"'),
        ("datetime(5)", "error"),
        ('datetime("soon")', "error"),
    ],
)
def test_datetimes_take_the_time_that_follows_the_date(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('time("10:30")', '"10:30:00.000000"'),
        ('time("at 7")', '"07:00:00.000000"'),
        ('time("7:5")', '"07:00:00.000000"'),
        ('time("1030")', '"10:30:00.000000"'),
        ('time("1030:45")', '"10:30:45.000000"'),
        ('time("10:30:45.25")', '"10:30:45.250000"'),
        ('time("10:30 pm")', '"22:30:00.000000"'),
        ('time("10:30p.m.")', '"10:00:00.000000"'),
        ('time("10 - PM")', '"22:00:00.000000"'),
        ('time("12 am")', '"00:00:00.000000"'),
        ('time("12:01 PM")', '"12:01:00.000000"'),
        ('time("0:00")', '"00:00:00.000000"'),
        ('time("24:00:00")', '"00:00:00.000000"'),
        ('time("24:00:01")', "error"),
        ('time("10:60")', "error"),
        ('time("99 then 8:15")', '"08:15:00.000000"'),
        ('time("x10:30")', "error"),
        ('time("")', "error"),
        ("time(0)", '"00:00:00.000000"'),
        ("time(23)", '"23:00:00.000000"'),
        ("time(24)", '"00:00:00.000000"'),
        ("time(25)", "error"),
        ("time(-1)", "error"),
        ("time(7.9)", '"07:00:00.000000"'),
        ("time(null)", "error"),
        ('time(datetime("2001-02-03T10:15:00-05:30"))', '"10:15:00.000000"'),
        ('time(date("2001-02-03"))', "error"),
    ],
)
def test_times_are_read_from_text(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('text(date("3-2-2001"))', '"2001-02-03"'),
        ('text(time("7 pm"))', '"19:00:00.000000"'),
        ('text(datetime("2001-02-03T10:15:00.1234567Z"))', '"2001-02-03T10:15:00.123456Z"'),
        ('text(datetime("2001-02-03T10:15:00+00:00"))', '"2001-02-03T10:15:00.000000Z"'),
        ('text(datetime("3-2-2001"))', '"2001-02-03T00:00:00.000000+02:00"'),
        ("now()", '"2024-05-17T11:30:15.250000+02:00"'),
        ("today()", '"2024-05-17"'),
    ],
)
def test_dates_and_times_have_one_text(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('format_date("2001-02-03")', '"03-02-2001"'),
        ('format_date("2001-02-03", "YYYY/MM/DD")', '"2001/02/03"'),
        ('format_date("2001-02-03", "D.M.YY")', '"3.2.01"'),
        ('format_date("2001-02-03", "EEE, DD MMM YYYY")', '"Sat, 03 Feb 2001"'),
        ('format_date("2001-02-03", "EEEE D MMMM")', '"Saturday 3 February"'),
        ('format_date("2001-02-03", "_T-")', '"_T-"'),
        ('format_date("2001-02-03", "tt:mm")', "error"),
        ('format_date("2001-02-03", "DDD")', "error"),
        ('format_date("2001-02-03", "DD!")', "error"),
        ('format_date("never")', "error"),
        ('format_datetime("2001-02-03T22:15:09.5Z")', '"04-02-2001 00:15"'),
        ('format_datetime("2001-02-03T22:15:09.5Z", "YYYY-MM-DD tt:mm:ss.fff")', '"2001-02-04 00:15:09.500"'),
        (
            'format_datetime("2001-02-03T22:15:09.5Z", "YYYY-MM-DDThh:mm:ss.ffffff AA", "America/New_York")',
            '"2001-02-03T05:15:09.500000 PM"',
        ),
        ('format_datetime("2001-02-03T22:15:09.5Z", "h:m:s aa fffffffff", "UTC")', '"10:15:9 pm 500000000"'),
        ('format_datetime("2001-02-03T22:15:09.5Z", "tZ", "UTC")', '"22Z"'),
        ('format_datetime("2001-02-03T22:15:09.5Z", "tZZZ", "UTC")', '"22+00:00"'),
        ('format_datetime("2001-02-03T22:15:09.5Z", "Z ZZZ")', '"+02:00 +02:00"'),
        ('format_datetime("2001-02-03T22:15:09.5Z", "ZZ")', "error"),
        ('format_datetime("2001-02-03T22:15:09.5Z", "YYYY", "Mars/Olympus")', "error"),
        ('format_datetime("2001-02-03T22:15:09.5Z", "YYYY", "../etc")', "error"),
        ('format_datetime("2001-02-03", "tt:mm")', '"00:00"'),
        ('format_datetime("never")', "error"),
        ('format_time("15:04:05")', '"15:04"'),
        ('format_time("15:04:05", "h aa")', '"3 pm"'),
        ('format_time("0:04:05", "hh:m:s AA")', '"12:4:5 AM"'),
        ('format_time("15:04:05", "DD")', "error"),
        ('format_time("15:04:05", "Z")', "error"),
        ('format_time("never")', "error"),
    ],
)
def test_dates_are_written_in_layouts(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('parse_datetime("03.02.2001 15:04", "DD.MM.YYYY tt:mm")', '"2001-02-03T15:04:00.000000+02:00"'),
        ('parse_datetime("3.2.01 3:04 pm", "D.M.YY h:mm aa")', '"2001-02-03T15:04:00.000000+02:00"'),
        ('parse_datetime("2001-02-03", "YYYY-MM-DD", "America/New_York")', '"2001-02-03T00:00:00.000000-05:00"'),
        ('parse_datetime("2001-02-03 15:04:05.25", "YYYY-MM-DD tt:mm:ss")', '"2001-02-03T15:04:05.250000+02:00"'),
        ('parse_datetime("2001-02-03T15:04:05+05:30", "YYYY-MM-DDTtt:mm:ssZZZ")', '"2001-02-03T11:34:05.000000+02:00"'),
        ('parse_datetime("2001-02-03T15:04:05Z", "YYYY-MM-DDTtt:mm:ssZ")', '"2001-02-03T17:04:05.000000+02:00"'),
        ('parse_datetime("2001-02-03 ", "YYYY-MM-DD")', "error"),
        ('parse_datetime("2001-2-3", "YYYY-MM-DD")', "error"),
        ('parse_datetime("2001-02-30", "YYYY-MM-DD")', "error"),
        ('parse_datetime("x", "QQ")', "error"),
        ('parse_datetime("Feb 2001", "MMM YYYY")', "error"),
        ('parse_datetime("2001-02-03", "YYYY-MM-DD", "Mars/Olympus")', "error"),
        ('parse_time("15:04", "tt:mm")', '"15:04:00.000000"'),
        ('parse_time("3:04 PM", "h:mm aa")', '"15:04:00.000000"'),
        ('parse_time("12:04 am", "h:mm aa")', '"00:04:00.000000"'),
        ('parse_time("15:04:05.125", "tt:mm:ss")', '"15:04:05.125000"'),
        ('parse_time("15:04:05.125", "tt:mm:ss.fff")', '"15:04:05.125000"'),
        ('parse_time("24:04", "tt:mm")', "error"),
        ('parse_time("2001", "YYYY")', "error"),
    ],
)
def test_texts_are_parsed_strictly_in_layouts(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('epoch("1970-01-01T00:00:01.5Z")', "1.5"),
        ('epoch("1-1-1970")', "-7200"),
        ('epoch("1969-12-31T23:59:58.5Z")', "-1.5"),
        ('epoch("x")', "error"),
        ("datetime_from_epoch(0)", '"1970-01-01T02:00:00.000000+02:00"'),
        ("datetime_from_epoch(86400.25)", '"1970-01-02T02:00:00.250000+02:00"'),
        ('datetime_from_epoch("-1")', '"1970-01-01T01:59:59.000000+02:00"'),
        ("datetime_from_epoch(9223372036)", '"2262-04-12T01:47:16.000000+02:00"'),
        ("datetime_from_epoch(9223372037)", "error"),
    ],
)
def test_seconds_are_counted_from_1970(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('datetime_add("01-31-2023", 1, "M")', '"2023-03-03T00:00:00.000000-08:00"'),
        ('datetime_add("01-31-2024", 1, "M")', '"2024-03-02T00:00:00.000000-08:00"'),
        ('datetime_add("02-29-2024", 1, "Y")', '"2025-03-01T00:00:00.000000-08:00"'),
        ('datetime_add("02-29-2024", -4, "Y")', '"2020-02-29T00:00:00.000000-08:00"'),
        ('datetime_add("01-01-2024", -1, "W")', '"2023-12-25T00:00:00.000000-08:00"'),
        ('datetime_add("03-09-2024 2:30 am", 1, "D")', '"2024-03-10T03:30:00.000000-07:00"'),
        ('datetime_add("03-09-2024 2:30 am", 24, "h")', '"2024-03-10T03:30:00.000000-07:00"'),
        ('datetime_add("11-02-2024 1:30 am", 1, "D")', '"2024-11-03T01:30:00.000000-07:00"'),
        ('datetime_add("11-02-2024 1:30 am", 24, "h")', '"2024-11-03T01:30:00.000000-07:00"'),
        ('datetime_add("01-01-2024", 90, "m")', '"2024-01-01T01:30:00.000000-08:00"'),
        ('datetime_add("01-01-2024", -1, "s")', '"2023-12-31T23:59:59.000000-08:00"'),
        ('datetime_add("01-01-2024", 1.9, "D")', '"2024-01-02T00:00:00.000000-08:00"'),
        ('datetime_add("01-01-2024", 1, "d")', "error"),
        ('datetime_add("01-01-2024", 1, "Q")', "error"),
        ('datetime_add("12-31-2023", -13, "M")', '"2022-12-01T00:00:00.000000-08:00"'),
        ('datetime_add("01-01-2024", 2147483647, "Y")', "error"),
        ('datetime_add("01-01-2024", -2147483648, "D")', "error"),
        ('datetime_diff("01-31-2024", "03-01-2025", "M")', "14"),
        ('datetime_diff("01-01-2024 23:00", "01-02-2024 1:00", "D")', "1"),
        ('datetime_diff("01-02-2024", "01-01-2024", "D")', "-1"),
        ('datetime_diff("01-01-2024", "01-14-2024", "W")', "1"),
        ('datetime_diff("01-14-2024", "01-01-2024", "W")', "-1"),
        ('datetime_diff("01-31-2024", "02-01-2024", "M")', "1"),
        ('datetime_diff("12-31-2023", "01-01-2024", "Y")', "1"),
        ('datetime_diff("01-01-2024 10:00", "01-01-2024 11:59", "h")', "1"),
        ('datetime_diff("01-01-2024 11:59", "01-01-2024 10:00", "h")', "-1"),
        ('datetime_diff("01-01-2024 10:00:00", "01-01-2024 10:01:59", "m")', "1"),
        ('datetime_diff("01-01-2024 10:00:00.9", "01-01-2024 10:00:02", "s")', "1"),
        ('datetime_diff("03-10-2024", "03-11-2024", "h")', "23"),
        ('datetime_diff("01-01-2024", "01-02-2024", "y")', "error"),
    ],
)
def test_units_up_to_hours_elapse_and_longer_ones_follow_the_calendar(expression: str, outcome: str) -> None:
    assert outcome_of(expression, MONTH_FIRST) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('replace_time("2024-02-01T23:30:00Z", "10:30")', '"2024-02-01T10:30:00.000000Z"'),
        ('replace_time("1-2-2024", "7 pm")', '"2024-02-01T19:00:00.000000+02:00"'),
        ('replace_time("1-2-2024", "x")', "error"),
        ('tz("1-2-2024")', '"Africa/Kigali"'),
        ('tz("2024-02-01T10:00:00Z")', '"UTC"'),
        ('tz("2024-02-01T10:00:00-05:00")', '"-05:00"'),
        ('tz("x")', "error"),
        ('tz_offset("1-2-2024")', '"+0200"'),
        ('tz_offset("2024-02-01T10:00:00-03:30")', '"-0330"'),
        ('tz_offset("2024-02-01T10:00:00Z")', '"+0000"'),
        ("date_from_parts(2024, 2, 29)", '"2024-02-29"'),
        ("date_from_parts(2023, 2, 29)", '"2023-03-01"'),
        ("date_from_parts(2024, 12, 32)", '"2025-01-01"'),
        ("date_from_parts(2024, 3, 0)", '"2024-02-29"'),
        ("date_from_parts(2024, 0, 1)", "error"),
        ("date_from_parts(0, 1, 1)", "error"),
        ("boolean(date_from_parts(1, 5, 5))", "false"),
        ("boolean(today())", "true"),
        ("date_from_parts(2024, 13, 1)", "error"),
        ("time_from_parts(23, 59, 59)", '"23:59:59.000000"'),
        ("time_from_parts(24, 0, 0)", "error"),
        ("time_from_parts(0, 60, 0)", "error"),
        ("time_from_parts(0, 0, 60)", "error"),
        ("time_from_parts(-1, 0, 0)", "error"),
        ('weekday("4-2-2024")', "0"),
        ('weekday("10-2-2024")', "6"),
        ('week_number("1-1-2024")', "1"),
        ('week_number("6-1-2024")', "1"),
        ('week_number("7-1-2024")', "2"),
        ('week_number("31-12-2024")', "53"),
        ('week_number("1-1-2022")', "1"),
        ('week_number("2-1-2022")', "2"),
    ],
)
def test_days_have_parts(expression: str, outcome: str) -> None:
    assert outcome_of(expression, DAY_FIRST) == outcome


def test_values_are_dates_and_times() -> None:
    assert value_of("today()") == date(2024, 5, 17)
    assert value_of('time("10:30")') == time(10, 30)
    assert value_of('datetime("2020-01-01T00:00:00Z")') == datetime(2020, 1, 1, tzinfo=UTC)
