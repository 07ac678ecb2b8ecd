"""Functions on dates and times (flow format, functions)."""

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from flows.environment import write_offset
from flows.expressions import calendar_arithmetic as calendar
from flows.expressions import conversions, decimals
from flows.expressions.conversions import in_zone
from flows.expressions.evaluation import Evaluation, ExpressionError
from flows.expressions.functions.registry import ANY, DATE, DATETIME, INTEGER, NUMBER, TEXT, TIME, function
from flows.expressions.values import Value, describe
from flows.layouts import LayoutError, format_with_layout, parse_with_layout

DAYS_PER_WEEK = 7
MONTHS = range(1, 13)
LAYOUT_WORK = 100


@function("now")
def now(evaluation: Evaluation) -> datetime:
    """The current time in the environment's time zone."""
    return in_zone(evaluation, evaluation.clock.now())


@function("today")
def today(evaluation: Evaluation) -> date:
    """The current day in the environment's time zone."""
    return in_zone(evaluation, evaluation.clock.now()).date()


def _read_layout(read: Callable[[], Value]) -> Value:
    try:
        return read()
    except LayoutError as error:
        raise ExpressionError(str(error)) from None


def _find_zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ExpressionError(f"unknown timezone {describe(name)}") from None


def _zone_of(evaluation: Evaluation, name: str) -> ZoneInfo:
    return _find_zone(name) if name else evaluation.environment.zone


@function("parse_datetime", takes=[TEXT, TEXT], optional=[TEXT], work=LAYOUT_WORK)
def parse_datetime(evaluation: Evaluation, text: str, layout: str, zone: str = "") -> Value:
    """A datetime written in a layout, in a timezone (default: the environment's)."""
    found = _zone_of(evaluation, zone)
    return _read_layout(lambda: parse_with_layout(text, layout, found, "datetime"))


@function("parse_time", takes=[TEXT, TEXT], work=LAYOUT_WORK)
def parse_time(evaluation: Evaluation, text: str, layout: str) -> Value:
    """A time of day written in a layout."""
    zone = evaluation.environment.zone
    return _read_layout(lambda: parse_with_layout(text, layout, zone, "time"))


@function("format_date", takes=[DATE], optional=[TEXT], work=LAYOUT_WORK)
def format_date(evaluation: Evaluation, day: date, layout: str = "") -> Value:
    """A date in a layout (default: the environment's)."""
    environment = evaluation.environment
    return _read_layout(lambda: format_with_layout(day, layout or environment.date_format, environment, "date"))


@function("format_datetime", takes=[DATETIME], optional=[TEXT, TEXT], work=LAYOUT_WORK)
def format_datetime(evaluation: Evaluation, moment: datetime, layout: str = "", zone: str = "") -> Value:
    """A datetime in a layout and a timezone (default: the environment's formats and timezone)."""
    environment = evaluation.environment
    chosen = layout or f"{environment.date_format} {environment.time_format}"
    shown = move_to_zone(moment, _zone_of(evaluation, zone))
    return _read_layout(lambda: format_with_layout(shown, chosen, environment, "datetime"))


@function("format_time", takes=[TIME], optional=[TEXT], work=LAYOUT_WORK)
def format_time(evaluation: Evaluation, time_of_day: time, layout: str = "") -> Value:
    """A time of day in a layout (default: the environment's)."""
    environment = evaluation.environment
    return _read_layout(lambda: format_with_layout(time_of_day, layout or environment.time_format, environment, "time"))


@function("datetime_from_epoch", takes=[NUMBER])
def datetime_from_epoch(evaluation: Evaluation, seconds: Decimal) -> datetime:
    """The datetime for seconds since the beginning of 1970, in the environment's time zone."""
    return in_zone(evaluation, calendar.from_epoch(seconds))


@function("epoch", takes=[DATETIME])
def epoch(evaluation: Evaluation, moment: datetime) -> Decimal:
    """Seconds since the beginning of 1970, with fractions."""
    return calendar.to_epoch(moment)


@function("datetime_add", takes=[DATETIME, INTEGER, TEXT])
def datetime_add(evaluation: Evaluation, moment: datetime, count: int, unit: str) -> datetime:
    """A datetime so many units later."""
    return calendar.add_to_datetime(moment, count, unit)


@function("datetime_diff", takes=[DATETIME, DATETIME, TEXT])
def datetime_diff(evaluation: Evaluation, start: datetime, end: datetime, unit: str) -> Decimal:
    """How many units are between two datetimes."""
    return Decimal(calendar.measure(start, end, unit))


@function("replace_time", takes=[DATETIME, TIME])
def replace_time(evaluation: Evaluation, moment: datetime, time_of_day: time) -> datetime:
    """The same day at another time."""
    return calendar.move_to(moment, moment.date(), time_of_day)


@function("tz", takes=[DATETIME])
def name_timezone(evaluation: Evaluation, moment: datetime) -> str:
    """The name of a datetime's time zone, or its offset if only that is known."""
    if isinstance(moment.tzinfo, ZoneInfo):
        return moment.tzinfo.key
    return write_offset(moment) or "UTC"


@function("tz_offset", takes=[DATETIME])
def show_offset(evaluation: Evaluation, moment: datetime) -> str:
    """The offset from UTC as `+hhmm`."""
    return write_offset(moment, separator="") or "+0000"


@function("date_from_parts", takes=[INTEGER, INTEGER, INTEGER])
def date_from_parts(evaluation: Evaluation, year: int, month: int, day: int) -> date:
    """A date; days beyond the end of the month overflow into the next month."""
    if month not in MONTHS:
        raise ExpressionError(f"invalid value for month: {month}, must be 1-12")
    try:
        return date(year, month, 1) + timedelta(days=day - 1)
    except (ValueError, OverflowError):
        raise ExpressionError("date is out of range") from None


@function("time_from_parts", takes=[INTEGER, INTEGER, INTEGER])
def time_from_parts(evaluation: Evaluation, hour: int, minute: int, second: int) -> time:
    """A time of day."""
    for name, part, most in (("hour", hour, 23), ("minute", minute, 59), ("second", second, 59)):
        if not 0 <= part <= most:
            raise ExpressionError(f"invalid value for {name}: {part}, must be 0-{most}")
    return time(hour, minute, second)


@function("weekday", takes=[DATE])
def weekday(evaluation: Evaluation, day: date) -> Decimal:
    """0 for Sunday to 6 for Saturday."""
    return Decimal(day.isoweekday() % DAYS_PER_WEEK)


@function("week_number", takes=[DATE])
def week_number(evaluation: Evaluation, day: date) -> Decimal:
    """The week of the year."""
    return Decimal(calendar.week_number(day))


@function("legacy_add", takes=[ANY, ANY])
def legacy_add(evaluation: Evaluation, first: Value, second: Value) -> Value:
    """The sum of two numbers, or a date so many days later."""
    numbers = [_try_number(evaluation, value) for value in (first, second)]
    if numbers[0] is not None and numbers[1] is not None:
        return decimals.add(numbers[0], numbers[1])
    if numbers[0] is None and numbers[1] is None:
        raise ExpressionError("requires a number and a date, or two numbers")
    days = next(number for number in numbers if number is not None)
    moment = DATETIME(evaluation, first if numbers[0] is None else second)
    return calendar.add_to_datetime(moment, decimals.truncate(days), "D")


def _try_number(evaluation: Evaluation, value: Value) -> Decimal | None:
    try:
        return conversions.to_number(evaluation, value)
    except ExpressionError:
        return None


def move_to_zone(moment: datetime, zone: ZoneInfo) -> datetime:
    """The same instant in another timezone; raises ExpressionError at the ends of the calendar."""
    try:
        return moment.astimezone(zone)
    except OverflowError:
        raise ExpressionError("datetime is out of range") from None
