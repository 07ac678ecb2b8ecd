"""When campaign events are due: units, delivery hours, rounding, and clock changes."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from persistence.campaigns.fires import UNITS, find_due_moment

NEW_YORK = NY = "America/New_York"  # clocks skip 02:00-03:00 on 8 March 2026, repeat 01:00-02:00 on 1 November 2026
LONDON = "Europe/London"  # skips 01:00-02:00 on 29 March 2026, repeats 01:00-02:00 on 25 October 2026
LORD_HOWE = "Australia/Lord_Howe"  # half an hour: skips 02:00-02:30 on 4 October, repeats 01:30-02:00 on 5 April 2026
CAIRO = "Africa/Cairo"  # skips 00:00-01:00 on 24 April 2026, repeats 23:00-24:00 on 29 October 2026
KATHMANDU = "Asia/Kathmandu"  # UTC+05:45
APIA = "Pacific/Apia"  # had no 30 December 2011
MONROVIA = "Africa/Monrovia"  # UTC-00:44:30 until 1972

CASES = {
    "minutes are exact": ("Africa/Kigali", "2026-03-02T09:30:00", 90, "minutes", -1, "2026-03-02T11:00:00"),
    "hours may point back": ("Africa/Kigali", "2026-03-02T09:30:00", -10, "hours", -1, "2026-03-01T23:30:00"),
    "days keep the time of day": ("Africa/Kigali", "2026-03-02T09:30:00", 3, "days", -1, "2026-03-05T09:30:00"),
    "weeks are seven days": ("Africa/Kigali", "2026-03-02T09:30:00", -2, "weeks", -1, "2026-02-16T09:30:00"),
    "nothing is added to a full minute": ("UTC", "2026-03-02T09:30:00", 0, "days", -1, "2026-03-02T09:30:00"),
    "a begun minute is rounded up": ("UTC", "2026-03-02T09:30:00.000001", 0, "minutes", -1, "2026-03-02T09:31:00"),
    "rounding up may reach the next day": ("UTC", "2026-03-02T23:59:59.5", 0, "days", 7, "2026-03-03T07:00:00"),
    "an hour moves within the day": ("Africa/Kigali", "2026-03-02T21:30:00", 1, "days", 9, "2026-03-03T09:00:00"),
    "midnight begins the day": ("Africa/Kigali", "2026-03-02T21:30:00", 1, "days", 0, "2026-03-03T00:00:00"),
    "hours are added before the hour is set": ("UTC", "2026-03-02T23:30:00", 1, "hours", 8, "2026-03-03T08:00:00"),
    "a leap day counts": ("UTC", "2028-02-28T12:00:00", 2, "days", -1, "2028-03-01T12:00:00"),
    "days keep the time over the skipped hour": (NY, "2026-03-07T12:00", 1, "days", -1, "2026-03-08T12:00-04:00"),
    "24 hours do not": (NY, "2026-03-07T12:00", 24, "hours", -1, "2026-03-08T13:00-04:00"),
    "days keep the time over the doubled hour": (NY, "2026-10-31T12:00", 1, "days", -1, "2026-11-01T12:00-05:00"),
    "24 hours over it do not": (NY, "2026-10-31T12:00", 24, "hours", -1, "2026-11-01T11:00-05:00"),
    "a skipped time moves on by the gap": (NY, "2026-03-07T02:30", 1, "days", -1, "2026-03-08T03:30-04:00"),
    "a skipped delivery hour moves on": (NY, "2026-03-08T12:00", 0, "days", 2, "2026-03-08T03:00-04:00"),
    "a doubled time is the first": (NY, "2026-10-31T01:30", 1, "days", -1, "2026-11-01T01:30-04:00"),
    "a doubled delivery hour is the first": (NY, "2026-11-01T12:00", 0, "days", 1, "2026-11-01T01:00-04:00"),
    "no offset stays in the second": (NY, "2026-11-01T01:30-05:00", 0, "days", -1, "2026-11-01T01:30-05:00"),
    "minutes pass the doubled hour": (NY, "2026-11-01T01:30-04:00", 60, "minutes", -1, "2026-11-01T01:30-05:00"),
    "half an hour may be skipped": (LORD_HOWE, "2026-10-03T02:15", 1, "days", -1, "2026-10-04T02:45:00+11:00"),
    "half an hour may be doubled": (LORD_HOWE, "2026-04-04T01:45", 1, "days", -1, "2026-04-05T01:45:00+11:00"),
    "the hour after half a gap is itself": (LORD_HOWE, "2026-10-03T09:00", 1, "days", 3, "2026-10-04T03:00+11:00"),
    "a delivery hour in half a gap": (LORD_HOWE, "2026-10-03T09:00", 1, "days", 2, "2026-10-04T02:30:00+11:00"),
    "hours over half a gap": (LORD_HOWE, "2026-10-04T01:45", 1, "hours", -1, "2026-10-04T03:15:00+11:00"),
    "hours over half a fold": (LORD_HOWE, "2026-04-05T01:15", 1, "hours", -1, "2026-04-05T01:45:00+10:30"),
    "spring in London, weeks": (LONDON, "2026-03-22T09:00", 1, "weeks", -1, "2026-03-29T09:00+01:00"),
    "spring in London, back": (LONDON, "2026-03-30T09:00", -2, "days", -1, "2026-03-28T09:00+00:00"),
    "spring in London, skipped hour": (LONDON, "2026-03-28T18:00", 1, "days", 1, "2026-03-29T02:00+01:00"),
    "spring in London, minutes": (LONDON, "2026-03-29T00:59", 1, "minutes", -1, "2026-03-29T02:00+01:00"),
    "spring in London, hours then hour": (LONDON, "2026-03-28T23:30", 2, "hours", 1, "2026-03-29T02:00+01:00"),
    "spring in London, rounding into it": (LONDON, "2026-03-29T00:59:30", 0, "days", -1, "2026-03-29T02:00+01:00"),
    "autumn in London, doubled hour": (LONDON, "2026-10-24T18:00", 1, "days", 1, "2026-10-25T01:00+01:00"),
    "autumn in London, hours to the second": (LONDON, "2026-10-25T00:30", 2, "hours", -1, "2026-10-25T01:30+00:00"),
    "autumn in London, from the second": (LONDON, "2026-10-25T01:30+00:00", 1, "days", -1, "2026-10-26T01:30+00:00"),
    "midnight skipped in Cairo": (CAIRO, "2026-04-23T12:00", 1, "days", 0, "2026-04-24T01:00+03:00"),
    "half past midnight skipped in Cairo": (CAIRO, "2026-04-17T00:30", 1, "weeks", -1, "2026-04-24T01:30+03:00"),
    "the last hour doubled in Cairo": (CAIRO, "2026-10-28T12:00", 1, "days", 23, "2026-10-29T23:00+03:00"),
    "hours over the doubled hour in Cairo": (CAIRO, "2026-10-29T22:30+03:00", 2, "hours", -1, "2026-10-29T23:30+02:00"),
    "nothing changes in Kigali": ("Africa/Kigali", "2026-03-28T01:30", 26, "weeks", -1, "2026-09-26T01:30+02:00"),
    "zones may have odd minutes": (KATHMANDU, "2026-03-02T09:30", 1, "days", 6, "2026-03-03T06:00:00+05:45"),
    "a skipped day becomes the next": (APIA, "2011-12-29T10:00", 1, "days", -1, "2011-12-31T10:00:00+14:00"),
    "minutes are those of the clocks there": (MONROVIA, "1970-05-01T10:00:10", 0, "days", -1, "1970-05-01T10:01:00"),
}  # fmt: skip


def local(text: str, zone: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(zone))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_due_moment_is_the_base_plus_the_offset_at_the_hour(case):
    zone, base, offset, unit, hour, expected = case

    due = find_due_moment(local(base, zone), offset, unit, hour, ZoneInfo(zone))

    assert due == local(expected, zone).astimezone(UTC)


@pytest.mark.parametrize("offset", [2**31 - 1, -(2**31)])
@pytest.mark.parametrize("unit", UNITS[1:])
def test_moments_no_calendar_reaches_are_none(offset, unit):
    due = find_due_moment(datetime(2026, 3, 2, tzinfo=UTC), offset, unit, -1, ZoneInfo("UTC"))

    assert due is None


@pytest.mark.parametrize("base", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
@pytest.mark.parametrize("zone", [NEW_YORK, "Pacific/Kiritimati"])
def test_the_ends_of_the_calendar_are_no_error(base, zone):
    for offset in (-1, 0, 1):
        assert find_due_moment(base, offset, "days", 0, ZoneInfo(zone)) is None or abs(base.year - 5000) > 4998


@given(
    base=st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2040, 1, 1)),
    offset=st.integers(-1000, 1000),
    unit=st.sampled_from(UNITS),
    hour=st.integers(-1, 23),
    zone=st.sampled_from(["UTC", NEW_YORK, LORD_HOWE, KATHMANDU, CAIRO, "Africa/Kigali", LONDON]),
)
def test_a_due_moment_is_a_full_minute_near_what_the_offset_says(base, offset, unit, hour, zone):
    start = base.replace(tzinfo=UTC)

    due = find_due_moment(start, offset, unit, hour, ZoneInfo(zone))

    assert due is not None
    assert (due.second, due.microsecond) == (0, 0)
    assert abs(due - start - timedelta(**{unit: offset})) <= timedelta(days=1, hours=2)


def test_a_later_base_is_never_due_earlier_on_days_without_a_change_of_clocks():
    zone = ZoneInfo("Africa/Kigali")
    dues = [
        find_due_moment(datetime(2026, 3, 2, tzinfo=UTC) + timedelta(minutes=17 * step), 2, "days", -1, zone)
        for step in range(200)
    ]

    assert dues == sorted(dues)
