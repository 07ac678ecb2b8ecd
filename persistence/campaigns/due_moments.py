"""When a campaign event is due for a contact: a pure calculation (contract reference, campaigns and events).

Minutes and hours are exact durations; days and weeks keep the time of day in the workspace's zone. A time of day that
a change of clocks skips is moved on by what was skipped, one that happens twice means the first of the two.
"""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

MINUTES, HOURS, DAYS, WEEKS = UNITS = "minutes", "hours", "days", "weeks"
SAME_TIME = -1
MINUTE = timedelta(minutes=1)


def find_due_moment(base: datetime, offset: int, unit: str, delivery_hour: int, zone: ZoneInfo) -> datetime | None:
    """The moment in UTC that lies `offset` units after `base`, an aware moment rounded up to the full minute.

    A `delivery_hour` of 0 to 23 moves it to that hour of its day, -1 leaves the time. None where no calendar reaches.
    """
    try:
        moved = _round_up(base, zone)
        if unit in (MINUTES, HOURS):
            moved = (moved.astimezone(UTC) + timedelta(**{unit: offset})).astimezone(zone)
        elif offset:
            moved += timedelta(**{unit: offset})
        if delivery_hour != SAME_TIME:
            moved = datetime.combine(moved.date(), time(delivery_hour), zone)
        return moved.astimezone(UTC)
    except OverflowError:
        return None


def _round_up(base: datetime, zone: ZoneInfo) -> datetime:
    """The moment in a zone, at the next full minute of the clocks there."""
    local = base.astimezone(zone)
    begun = timedelta(seconds=local.second, microseconds=local.microsecond)
    if not begun:
        return local
    return (local.astimezone(UTC) + MINUTE - begun).astimezone(zone)
