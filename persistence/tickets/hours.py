"""Hours of work: when a team is there, and until when so many minutes of work have passed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from channels.hours import DAYS
from persistence.errors import InvalidInput

MOST_DAYS = 366
"""Nobody waits for longer than that for the first hour of work."""
ONE_DAY = timedelta(days=1)
WHOLE_DAY = (time(), time())


@dataclass(frozen=True, slots=True)
class WorkHours:
    """The time at which work begins on weekdays (0 is Monday) and at which it ends, on the next day unless that is
    later; days on which nobody works; and the time zone of all of these.
    """

    week: Mapping[int, tuple[time, time]]
    holidays: frozenset[date]
    zone: ZoneInfo

    def is_open(self, moment: datetime) -> bool:
        """Whether somebody works at this moment."""
        begin, end = next(self._spans(moment), (moment, moment))
        return begin <= moment < end

    def add_minutes(self, begin: datetime, minutes: int) -> datetime:
        """When so many minutes of work have passed since then, in UTC; at most MOST_DAYS later."""
        left, at = timedelta(minutes=minutes), begin
        for opens, closes in self._spans(begin):
            start = max(opens, at)
            if start + left <= closes:
                return (start + left).astimezone(UTC)
            left -= max(closes - start, timedelta())
            at = max(closes, at)
        return begin.astimezone(UTC) + MOST_DAYS * ONE_DAY

    def _spans(self, after: datetime) -> Iterator[tuple[datetime, datetime]]:
        """The spans of work that are not over at this moment, in UTC: between two clock times there are more or fewer
        hours on days on which clocks change."""
        first = after.astimezone(self.zone).date() - ONE_DAY
        for day in (first + number * ONE_DAY for number in range(MOST_DAYS)):
            if day in self.holidays or day.weekday() not in self.week:
                continue
            opens, closes = self.week[day.weekday()]
            last = day if opens < closes else day + ONE_DAY
            begin, end = (datetime.combine(*each, self.zone).astimezone(UTC) for each in ((day, opens), (last, closes)))
            if end > after:
                yield begin, end


def load_hours(hours: Sequence[Mapping[str, str]], holidays: Sequence[str], zone: ZoneInfo) -> WorkHours:
    """The hours of a team as they are stored; without any it works all day."""
    week = {
        DAYS.index(each["day"]): (time.fromisoformat(each["opens"]), time.fromisoformat(each["closes"]))
        for each in hours
    }
    days = frozenset(date.fromisoformat(each) for each in holidays)
    return WorkHours(week or dict.fromkeys(range(len(DAYS)), WHOLE_DAY), days, zone)


def check_holidays(days: Sequence[str]) -> list[str]:
    """The holidays of a request as they are stored, in their order. Raises InvalidInput for what only looks like a
    day, such as one of the year 0: a stored one would end whoever opens a ticket."""
    try:
        return sorted({date.fromisoformat(each).isoformat() for each in days})
    except ValueError as error:
        raise InvalidInput.on("holidays", "Expected a date, like 2027-03-02.", "wrong_form") from error


def check_hours(hours: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """The hours of a request as they are stored, by weekday. Raises InvalidInput for a day that has two."""
    found = {each["day"]: {name: each[name] for name in ("day", "opens", "closes")} for each in hours}
    if len(found) < len(hours):
        raise InvalidInput.on("hours", "Each day of the week has its hours once at most.")
    return sorted(found.values(), key=lambda each: DAYS.index(each["day"]))
