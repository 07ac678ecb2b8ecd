"""Sending hours: the days and times at which a channel sends what nobody waits for."""

import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
LENGTH = 64
WEEK = 7
_FORM = re.compile(r"([a-z,-]+) ([0-9]{2}):([0-9]{2})-([0-9]{2}):([0-9]{2})")
HELP = "Days and times such as mon-fri 08:00-18:00, or mon,wed,sat 07:30-24:00"


@dataclass(frozen=True, slots=True)
class SendingHours:
    """Weekdays (0 is Monday), and the minutes of a day from which and until which messages go."""

    days: frozenset[int]
    opens: int
    closes: int

    def next_opening(self, moment: datetime, zone: ZoneInfo) -> datetime:
        """The moment if it is within the hours, otherwise when they begin next."""
        local = moment.astimezone(zone)
        minute = local.hour * 60 + local.minute
        if local.weekday() in self.days and self.opens <= minute < self.closes:
            return moment
        first = 0 if minute < self.opens else 1
        following = (local.date() + timedelta(days=first + number) for number in range(WEEK + 1))
        day = next(each for each in following if each.weekday() in self.days)
        return datetime.combine(day, time(*divmod(self.opens, 60)), zone).astimezone(moment.tzinfo)


def read_hours(text: str) -> SendingHours | None:
    """Hours from their text; None if it is not one.

    >>> read_hours("mon-wed,sun 08:00-18:30")
    SendingHours(days=frozenset({0, 1, 2, 6}), opens=480, closes=1110)
    >>> read_hours("mon 18:00-08:00")
    """
    found = _FORM.fullmatch(" ".join(text.lower().split()))
    if found is None:
        return None
    named, *numbers = found.groups()
    days: set[int] = set()
    for piece in named.split(","):
        first, _, last = piece.partition("-")
        if first not in DAYS or (last or first) not in DAYS:
            return None
        begin, end = DAYS.index(first), DAYS.index(last or first)
        days |= {number % WEEK for number in range(begin, end + 1 if end >= begin else end + WEEK + 1)}
    from_hour, from_minute, until_hour, until_minute = map(int, numbers)
    opens, closes = from_hour * 60 + from_minute, until_hour * 60 + until_minute
    is_possible = from_minute < 60 and until_minute < 60 and 0 <= opens < closes <= 24 * 60
    return SendingHours(frozenset(days), opens, closes) if is_possible else None


def next_day(moment: datetime, zone: ZoneInfo) -> datetime:
    """The beginning of the day after a moment."""
    day = moment.astimezone(zone).date() + timedelta(days=1)
    return datetime.combine(day, time(), zone).astimezone(moment.tzinfo)
