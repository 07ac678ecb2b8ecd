from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.dates import parse_date, parse_datetime, parse_time
from flows.environment import DATE_FORMATS, Environment
from tests.flows.clocks import StandingClock

CLOCK = StandingClock(datetime(2018, 9, 13, 13, 36, 30, 123456, tzinfo=UTC))
DAY_FIRST = Environment(date_format="DD-MM-YYYY")
MONTH_FIRST = Environment(date_format="MM-DD-YYYY")
YEAR_FIRST = Environment()
LOS_ANGELES = ZoneInfo("America/Los_Angeles")


@pytest.mark.parametrize(
    ("environment", "text", "day"),
    [
        (DAY_FIRST, "it's 31-12-2018 ok", date(2018, 12, 31)),
        (DAY_FIRST, "31/12/18", date(2018, 12, 31)),
        (DAY_FIRST, "on 31 12 2018", date(2018, 12, 31)),
        (DAY_FIRST, r"1\2\2001", date(2001, 2, 1)),
        (MONTH_FIRST, "12.31.2018", date(2018, 12, 31)),
        (YEAR_FIRST, "18-12-31", date(2018, 12, 31)),
        (YEAR_FIRST, "2001-1-2", date(2001, 1, 2)),
        (DAY_FIRST, "2018-12-31", date(2018, 12, 31)),
        (DAY_FIRST, "2018-12-31T18:30:15-08:00", date(2018, 12, 31)),
        (DAY_FIRST, "30/02/2018 or 01/03/2018", date(2018, 3, 1)),
    ],
)
def test_dates_are_found_in_the_order_of_the_environment(environment, text, day):
    assert parse_date(environment, CLOCK, text) == day


@pytest.mark.parametrize(
    ("environment", "text"),
    [
        (DAY_FIRST, "it's ok"),
        (DAY_FIRST, "on 2018-12-31 maybe"),
        (DAY_FIRST, "2001-1-2"),
        (DAY_FIRST, "33-01-2001"),
        (DAY_FIRST, "01-13-2001"),
        (DAY_FIRST, "30-02-2022"),
        (DAY_FIRST, "01-01-16a"),
        (YEAR_FIRST, "0000-01-01"),
    ],
)
def test_what_is_no_date_of_the_calendar_in_that_order_is_not_found(environment, text):
    assert parse_date(environment, CLOCK, text) is None


@pytest.mark.parametrize(("text", "year"), [("1-2-18", 2018), ("1-2-19", 1919), ("1-2-99", 1999), ("1-2-00", 2000)])
def test_two_digits_mean_a_year_that_has_begun(text, year):
    assert parse_date(DAY_FIRST, CLOCK, text) == date(year, 2, 1)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2016-05-01T18:30:15-08:00", "2016-05-01T18:30:15-08:00"),
        ("2016-05-01T18:30:15.250Z", "2016-05-01T18:30:15.250+00:00"),
        ("2016-05-01t18:30:15.1234567z", "2016-05-01T18:30:15.123456+00:00"),
        ("1977-06-23T08:34:00.000250500-07:00", "1977-06-23T08:34:00.000250-07:00"),
        ("2017-06-10T17:34-06:00", "2017-06-10T17:34:00-06:00"),
        ("2001-02-01", "2001-02-01T00:00:00+00:00"),
        ("2001-02-01 03:15pm", "2001-02-01T15:15:00+00:00"),
        ("2001-02-01T03:15:34", "2001-02-01T03:15:34+00:00"),
        ("born 2001-02-01 at 3 pm", "2001-02-01T15:00:00+00:00"),
        ("10:00 on 2001-02-01", "2001-02-01T00:00:00+00:00"),
        ("2001-02-01T99:99:99Z", "2001-02-01T00:00:00+00:00"),
    ],
)
def test_a_datetime_is_a_date_with_the_time_that_follows_it(text, moment):
    assert parse_datetime(YEAR_FIRST, CLOCK, text) == datetime.fromisoformat(moment)


@pytest.mark.parametrize(
    "text",
    [
        *("0001-01-01T00:00:00+14:00", "0001-01-02", "-0044-03-15", "-10044-03-15", "0044-03-15 BC", "44-03-15 B.C."),
        *("-0044-03-15T00:00:00Z", "\u22120044-03-15", "0044-03-15BCE", "0000-01-01"),
    ],
)
def test_moments_at_the_beginning_of_the_calendar_are_not_found(text):
    assert parse_datetime(YEAR_FIRST, CLOCK, text) is None


def test_a_full_iso_text_keeps_its_offset():
    moment = parse_datetime(YEAR_FIRST, CLOCK, "2016-05-01T18:30:15-08:00")

    assert moment.isoformat() == "2016-05-01T18:30:15-08:00"


def test_other_texts_are_in_the_timezone_of_the_environment():
    moment = parse_datetime(Environment(timezone="America/Los_Angeles"), CLOCK, "2001-02-01 03:15")

    assert (moment.tzinfo, moment.isoformat()) == (LOS_ANGELES, "2001-02-01T03:15:00-08:00")


def test_a_missing_time_is_filled_with_the_present_time_of_day_when_asked():
    moment = parse_datetime(Environment(timezone="America/Los_Angeles"), CLOCK, "2001-02-01", fill_time=True)

    assert moment.isoformat() == "2001-02-01T06:36:30.123456-08:00"


def test_a_written_time_is_not_filled():
    assert parse_datetime(YEAR_FIRST, CLOCK, "2001-02-01 04:23", fill_time=True).time() == time(4, 23)


def test_a_time_that_the_clocks_skipped_moves_on_by_the_gap():
    moment = parse_datetime(Environment(timezone="America/Los_Angeles"), CLOCK, "2021-03-14 02:30")

    assert moment.isoformat() == "2021-03-14T03:30:00-07:00"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("it's 10 ok", time(10)),
        ("10 PM", time(22)),
        ("10:30pm", time(22, 30)),
        ("1030", time(10, 30)),
        ("130", time(1, 30)),
        ("1030:45", time(10, 30, 45)),
        ("10:30:45.123456789 pm", time(22, 30, 45, 123456)),
        ("10:30:45.1", time(10, 30, 45, 100000)),
        ("12:00 AM", time(0)),
        ("12pm", time(12)),
        ("24:00", time(0)),
        ("25:30 or 11:30", time(11, 30)),
    ],
)
def test_times_are_found(text, expected):
    assert parse_time(text) == expected


@pytest.mark.parametrize("text", ["it's ok", "24:00:30", "25:30", "10:61", "10:30:60", "12345678", "x10"])
def test_what_is_no_time_of_day_is_not_found(text):
    assert parse_time(text) is None


@given(st.text(alphabet=st.sampled_from("0123456789-/. :TZ+apm\\_é"), max_size=40), st.sampled_from(DATE_FORMATS))
def test_any_text_is_read_without_failing_and_always_aware(text, date_format):
    moment = parse_datetime(Environment(date_format=date_format, timezone="Asia/Kathmandu"), CLOCK, text, True)

    assert moment is None or moment.tzinfo is not None
