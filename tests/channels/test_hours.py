"""Sending hours: what their text means, and when they begin next."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from channels.hours import next_day, read_hours

KIGALI, NEW_YORK = ZoneInfo("Africa/Kigali"), ZoneInfo("America/New_York")


def at(text: str, zone: ZoneInfo = KIGALI) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone).astimezone(UTC)


@pytest.mark.parametrize(
    ("hours", "moment", "opening"),
    [
        ("mon-fri 08:00-18:00", "2026-03-02T08:00", "2026-03-02T08:00"),
        ("mon-fri 08:00-18:00", "2026-03-02T17:59:59", "2026-03-02T17:59:59"),
        ("mon-fri 08:00-18:00", "2026-03-02T18:00", "2026-03-03T08:00"),
        ("mon-fri 08:00-18:00", "2026-03-02T05:00", "2026-03-02T08:00"),
        ("mon-fri 08:00-18:00", "2026-03-06T20:00", "2026-03-09T08:00"),
        ("MON  08:00-18:00", "2026-03-02T18:00", "2026-03-09T08:00"),
        ("sat-mon 00:00-24:00", "2026-03-03T12:00", "2026-03-07T00:00"),
        ("sun,tue 07:30-24:00", "2026-03-02T23:59", "2026-03-03T07:30"),
    ],
)
def test_what_comes_outside_of_the_hours_waits_until_they_begin(hours: str, moment: str, opening: str) -> None:
    read = read_hours(hours)

    assert read is not None
    assert read.next_opening(at(moment), KIGALI) == at(opening)


def test_hours_are_those_of_the_clock_on_the_wall_when_the_clocks_change() -> None:
    hours = read_hours("mon-sun 08:00-18:00")
    assert hours is not None

    openings = [hours.next_opening(at(f"2026-03-{day:02}T20:00", NEW_YORK), NEW_YORK) for day in (6, 7, 8)]

    assert [each.hour for each in openings] == [13, 12, 12]
    assert next_day(at("2026-03-07T20:00", NEW_YORK), NEW_YORK) == at("2026-03-08T00:00", NEW_YORK)


@pytest.mark.parametrize(
    "text",
    [
        *("", "mon", "mon-fri", "08:00-18:00", "mon 18:00-08:00", "mon 08:00-08:00", "mon 08:60-18:00"),
        *("mon 08:00-24:01", "mon 8-18", "someday 08:00-18:00", "mon- 08:00-18:00x", "mon,,tue 08:00-18:00"),
    ],
)
def test_what_is_no_hours_is_refused(text: str) -> None:
    assert read_hours(text) is None
