"""What counts as hours of work."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from persistence.tickets.hours import MOST_DAYS, load_hours

BERLIN = ZoneInfo("Europe/Berlin")
DAYTIME = [{"day": day, "opens": "09:00", "closes": "17:00"} for day in ("mon", "tue", "wed", "thu", "fri")]
NIGHTS = [{"day": day, "opens": "22:00", "closes": "06:00"} for day in ("fri", "sat")]
SUNDAYS = [{"day": "sun", "opens": "01:00", "closes": "04:00"}]


def at(text: str) -> datetime:
    """A local time; the weeks of March and October 2026 begin on the 23rd and the 26th, clocks change on the Sunday
    before."""
    return datetime.fromisoformat(f"2026-{text}").replace(tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("hours", "holidays", "begin", "minutes", "due"),
    [
        (DAYTIME, [], "03-23 10:00", 60, "03-23 11:00"),
        (DAYTIME, [], "03-23 10:00", 420, "03-23 17:00"),
        (DAYTIME, [], "03-23 16:30", 60, "03-24 09:30"),
        (DAYTIME, [], "03-23 07:00", 60, "03-23 10:00"),
        (DAYTIME, [], "03-27 16:30", 60, "03-30 09:30"),
        (DAYTIME, ["2026-03-30", "2026-03-31"], "03-27 16:30", 60, "04-01 09:30"),
        (DAYTIME, [], "03-23 09:00", 5 * 480 + 1, "03-30 09:01"),
        (NIGHTS, [], "03-28 01:00", 6 * 60, "03-28 23:00"),
        (NIGHTS, ["2026-03-27"], "03-28 01:00", 60, "03-28 23:00"),
        # The hour from 2 to 3 is skipped on 29 March, and there twice on 25 October.
        (NIGHTS, [], "03-28 22:00", 7 * 60, "03-29 06:00"),
        (SUNDAYS, [], "03-29 01:00", 150, "04-05 01:30"),
        (SUNDAYS, [], "10-25 01:00", 4 * 60, "10-25 04:00"),
        ([], [], "03-29 01:00", 24 * 60, "03-30 02:00"),
        ([], ["2026-03-24"], "03-23 23:30", 60, "03-25 00:30"),
    ],
)
def test_minutes_count_while_somebody_works(hours, holidays, begin: str, minutes: int, due: str) -> None:
    found = load_hours(hours, holidays, BERLIN).add_minutes(at(begin).astimezone(UTC), minutes)

    assert found == at(due)


@pytest.mark.parametrize(
    ("hours", "open_at", "closed_at"),
    [
        (DAYTIME, ["03-23 09:00", "03-27 16:59"], ["03-23 08:59", "03-23 17:00", "03-28 12:00"]),
        (NIGHTS, ["03-27 22:00", "03-28 05:59", "03-29 01:00"], ["03-27 05:00", "03-28 06:00", "03-29 22:00"]),
        ([], ["03-23 00:00", "03-29 03:30"], ["12-25 12:00"]),
    ],
)
def test_a_team_is_there_in_its_hours_but_on_holidays(hours, open_at: list[str], closed_at: list[str]) -> None:
    found = load_hours(hours, ["2026-12-25"], BERLIN)

    assert [each for each in open_at if not found.is_open(at(each))] == []
    assert [each for each in closed_at if found.is_open(at(each))] == []


def test_what_never_comes_is_due_after_a_year() -> None:
    one_minute = [{"day": "mon", "opens": "09:00", "closes": "09:01"}]
    begin = at("03-23 08:00").astimezone(UTC)

    due = load_hours(one_minute, [], BERLIN).add_minutes(begin, 10_080)

    assert (due - begin).days == MOST_DAYS
