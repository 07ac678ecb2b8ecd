"""Steps and distances between datetimes (flow format, dates and times functions)."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from flows.expressions.evaluation import ExpressionError

MONTHS_PER_YEAR = 12
DAYS_PER_WEEK = 7
ELAPSED_SECONDS = {"s": 1, "m": 60, "h": 3600}
UNITS = ("s", "m", "h", "D", "W", "M", "Y")
_OUT_OF_RANGE = "datetime is out of range"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECONDS = Decimal(1_000_000)
_EPOCH_LIMIT = Decimal(2**63).scaleb(-9)


def check_unit(unit: str) -> str:
    """The unit itself; raises ExpressionError if it isn't one of `s m h D W M Y`."""
    if unit not in UNITS:
        raise ExpressionError(f"unknown unit: {unit}, must be one of s, m, h, D, W, M, Y")
    return unit


def add_to_datetime(moment: datetime, count: int, unit: str) -> datetime:
    """Adds elapsed time for units up to hours, and calendar units, which keep the time of day, for days and longer
    ones. Days that a month does not have overflow into the next one. Raises ExpressionError beyond the years 1 to 9999.
    """
    check_unit(unit)
    try:
        if unit in ELAPSED_SECONDS:
            elapsed = timedelta(seconds=count * ELAPSED_SECONDS[unit])
            return (moment.astimezone(UTC) + elapsed).astimezone(moment.tzinfo)
        return move_to(moment, _add_to_date(moment.date(), count, unit), moment.time())
    except (OverflowError, ValueError):
        raise ExpressionError(_OUT_OF_RANGE) from None


def _add_to_date(day: date, count: int, unit: str) -> date:
    if unit == "D":
        return day + timedelta(days=count)
    if unit == "W":
        return day + timedelta(weeks=count)
    months = count * (MONTHS_PER_YEAR if unit == "Y" else 1)
    year, month = divmod(day.year * MONTHS_PER_YEAR + day.month - 1 + months, MONTHS_PER_YEAR)
    return date(year, month + 1, 1) + timedelta(days=day.day - 1)


def move_to(moment: datetime, day: date, time_of_day: time) -> datetime:
    """Another day and time in a datetime's time zone, moved on by the gap if clocks skip it. Raises ExpressionError at
    the ends of the calendar.
    """
    local = datetime.combine(day, time_of_day.replace(fold=0, tzinfo=None), tzinfo=moment.tzinfo)
    try:
        return local.astimezone(UTC).astimezone(moment.tzinfo)
    except OverflowError:
        raise ExpressionError(_OUT_OF_RANGE) from None


def measure(start: datetime, end: datetime, unit: str) -> int:
    """How many units are between two datetimes, negative if the end comes first. Elapsed units are truncated; days,
    months and years are counted on the calendar, weeks are seven days.
    """
    check_unit(unit)
    if unit in ELAPSED_SECONDS:
        # Python would subtract the local times of two datetimes in one time zone.
        elapsed = end.astimezone(UTC) - start.astimezone(UTC)
        seconds = abs(elapsed) // timedelta(seconds=ELAPSED_SECONDS[unit])
        return -seconds if elapsed < timedelta(0) else seconds
    if unit == "Y":
        return end.year - start.year
    if unit == "M":
        return (end.year - start.year) * MONTHS_PER_YEAR + end.month - start.month
    days = (end.date() - start.date()).days
    return days if unit == "D" else int(days / DAYS_PER_WEEK)


def from_epoch(seconds: Decimal) -> datetime:
    """The datetime in UTC for seconds since the beginning of 1970; raises ExpressionError if out of range."""
    if not -_EPOCH_LIMIT <= seconds < _EPOCH_LIMIT:
        raise ExpressionError("number of seconds is out of range")
    return _EPOCH + timedelta(microseconds=int(seconds * _MICROSECONDS))


def to_epoch(moment: datetime) -> Decimal:
    """Seconds since the beginning of 1970, with fractions."""
    return Decimal((moment - _EPOCH) // timedelta(microseconds=1)) / _MICROSECONDS


def week_number(day: date) -> int:
    """The week of the year; weeks begin on Sunday and the first is the one with January 1st."""
    first = date(day.year, 1, 1)
    return (day.timetuple().tm_yday + first.isoweekday() % DAYS_PER_WEEK - 1) // DAYS_PER_WEEK + 1
