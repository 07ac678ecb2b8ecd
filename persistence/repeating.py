"""When what has a time is due again: one rule for triggers that are schedules and for broadcasts. The local time of day
stays the same in the time zone of the workspace. Of the times that were missed only the first is made up for, late.
"""

import calendar
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from persistence.errors import InvalidInput

NEVER, DAILY, WEEKLY, MONTHLY = REPEATS = "never", "daily", "weekly", "monthly"
WEEKDAYS = "MTWRFSU"
"""One letter for each day of the week, beginning with Monday."""
LAST_DAY = 31


class Times(NamedTuple):
    """When something is due first, in local time, and how it repeats. `days` are the letters of the weekdays of what is
    weekly, and the day of the month of what is monthly.
    """

    due_on: datetime
    repeat: str
    days: str | None
    time_of_day: time


def read_times(zone: ZoneInfo, given: datetime, repeat: str, days: str, now: datetime) -> Times:
    """The times of a request, whose fields are `scheduled_on`, `repeat` and `days`; a time without a time zone is one
    of the workspace. Raises InvalidInput.
    """
    try:
        local = given.replace(tzinfo=zone) if given.tzinfo is None else given.astimezone(zone)
        local.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInput.on(
            "scheduled_on", "This time is not in the calendar of the workspace's time zone."
        ) from error
    if local <= now:
        raise InvalidInput.on("scheduled_on", "This time is in the past.")
    if repeat not in REPEATS:
        raise InvalidInput.on("repeat", f"One of {', '.join(REPEATS)}.")
    if repeat == WEEKLY and not (days and set(days) <= set(WEEKDAYS)):
        raise InvalidInput.on("days", f"A weekly schedule needs letters of {WEEKDAYS}.")
    if repeat == MONTHLY:
        days = days or str(local.day)
        if not (days.isdecimal() and 1 <= int(days) <= LAST_DAY):
            raise InvalidInput.on("days", f"A monthly schedule has one day, from 1 to {LAST_DAY}.")
    elif repeat != WEEKLY and days:
        raise InvalidInput.on("days", "Only weekly and monthly schedules have days.")
    return Times(local, repeat, days or None, local.time())


def find_next_due(
    due_on: datetime,
    repeat: str,
    days: str | None,
    zone: ZoneInfo,
    after: datetime,
    time_of_day: time | None = None,
    until: date | None = None,
) -> datetime | None:
    """The first time after `after` when something that was due at `due_on` is due again; None if never, or not up to
    the end of the day `until`. The local time of day is `time_of_day`, by default the one of `due_on`. They differ if
    clocks skip that hour on the day of `due_on`. The day of a month is the last one in months that are shorter.
    """
    if repeat == NEVER:
        return None
    local = due_on.astimezone(zone)
    clock = local.time() if time_of_day is None else time_of_day
    start = max(local, after.astimezone(zone) - timedelta(days=1))
    day = start.date()
    while until is None or day <= until:
        moment = datetime.combine(day, clock, zone).astimezone(UTC)
        if moment > after and moment > due_on and _is_its_day(day, repeat, days or ""):
            return moment
        day += timedelta(days=1)
    return None


def _is_its_day(day: date, repeat: str, days: str) -> bool:
    if repeat == WEEKLY:
        return WEEKDAYS[day.weekday()] in days
    if repeat == MONTHLY:
        return day.day == min(int(days), calendar.monthrange(day.year, day.month)[1])
    return True
