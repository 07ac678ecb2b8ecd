"""Values as the case files write them: `{"text": ...}`, `{"number": ...}` and so on, null for null."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from flows.environment import Environment
from flows.expressions.comparison import equality_key
from flows.expressions.functions import find_function
from flows.expressions.values import NO_DEFAULT, Deprecated, Value, XArray, XError, XFunction, XObject
from tests.flows.clocks import StandingClock


def standing_clock(now: str) -> StandingClock:
    return StandingClock(datetime.fromisoformat(now))


def read_environment(settings: dict[str, Any]) -> Environment:
    return Environment.from_json(settings)


def read_case_value(written: Any) -> Any:
    """The value a case file means; times finer than microseconds are cut."""
    if written is None:
        return None
    if "deprecated" in written:
        plain = {key: item for key, item in written.items() if key != "deprecated"}
        return Deprecated(read_case_value(plain), written["deprecated"])
    if "object" in written:
        properties = {name: read_case_value(item) for name, item in written["object"].items()}
        default = read_case_value(written["default"]) if "default" in written else NO_DEFAULT
        return XObject(properties, default=default)
    kind = next(iter(written))
    return _READERS[kind](written)


def _read_datetime(written: dict[str, Any]) -> datetime:
    moment = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", written["datetime"]))
    if "tz" in written:
        return moment.astimezone(ZoneInfo(written["tz"]))
    return moment.astimezone(ZoneInfo("UTC")) if moment.utcoffset() == UTC.utcoffset(None) else moment


def _read_array(written: dict[str, Any]) -> XArray:
    return XArray([read_case_value(item) for item in written["array"]])


def _repeat_array(written: dict[str, Any]) -> XArray:
    item, count = written["repeat_array"]
    return XArray([read_case_value(item)] * count)


_READERS: dict[str, Any] = {
    "text": lambda written: written["text"],
    "number": lambda written: Decimal(written["number"]),
    "boolean": lambda written: written["boolean"],
    "date": lambda written: date.fromisoformat(written["date"]),
    "time": lambda written: time.fromisoformat(written["time"][:15]),
    "datetime": _read_datetime,
    "array": _read_array,
    "repeat_array": _repeat_array,
    "repeat_text": lambda written: written["repeat_text"][0] * written["repeat_text"][1],
    "function": lambda written: find_function(written["function"]),
    "error": lambda written: XError(str(written["error"])),
}


def assert_case_value(actual: Value, written: Any) -> None:
    """Fails unless a value is what a case file expects; `{"error": true}` is any error."""
    if isinstance(written, dict) and "error" in written:
        assert isinstance(actual, XError), f"no error but {actual!r}"
        return
    expected = read_case_value(written)
    if isinstance(expected, XFunction):
        assert isinstance(actual, XFunction)
        assert actual.name == expected.name
        return
    assert equality_key(actual) == equality_key(expected), f"{actual!r} is not {expected!r}"
