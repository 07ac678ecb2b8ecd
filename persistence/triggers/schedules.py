"""Times that come again: when a schedule is due next, by the clocks of its workspace."""

import calendar
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

NEVER, DAILY, WEEKLY, MONTHLY = REPEATS = "never", "daily", "weekly", "monthly"
WEEKDAYS = "MTWRFSU"
"""One letter for each day of the week, from Monday on."""


def find_next_due(
    due_on: datetime, repeat: str, days: str | None, zone: ZoneInfo, after: datetime, time_of_day: time | None = None
) -> datetime | None:
    """The first time after `after` at which a schedule that was due at `due_on` is due again; None if it never is.

    The time of day is kept, by the clocks of the zone: `time_of_day`, without it the one at `due_on`. They differ when
    clocks skip that hour on the day of `due_on`. `days` are the letters of the weekdays of a weekly schedule, and
    the day of the month of a monthly one, which in shorter months is the last one.
    """
    if repeat == NEVER:
        return None
    local = due_on.astimezone(zone)
    clock = local.time() if time_of_day is None else time_of_day
    start = max(local, after.astimezone(zone) - timedelta(days=1))
    day = start.date()
    while True:
        moment = datetime.combine(day, clock, zone).astimezone(UTC)
        if moment > after and moment > due_on and _is_its_day(day.year, day.month, day.day, repeat, days or ""):
            return moment
        day += timedelta(days=1)


def _is_its_day(year: int, month: int, day: int, repeat: str, days: str) -> bool:
    if repeat == WEEKLY:
        return WEEKDAYS[calendar.weekday(year, month, day)] in days
    if repeat == MONTHLY:
        return day == min(int(days), calendar.monthrange(year, month)[1])
    return True
