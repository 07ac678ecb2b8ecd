"""Values as the case files write them: `{"text": ...}`, `{"number": ...}` and so on, null for null."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from flows.environment import Environment
from flows.expressions.functions.registry import find_function
from flows.expressions.operators import equality_key
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


def read_case_arguments(written: Any) -> list[Any]:
    """The arguments of a call; `{"repeat_args": [value, count]}` stands for so many of the same."""
    if isinstance(written, dict):
        written = [written]
    arguments: list[Any] = []
    for each in written:
        if isinstance(each, dict) and "repeat_args" in each:
            value, count = each["repeat_args"]
            arguments += [read_case_value(value)] * count
        else:
            arguments.append(read_case_value(each))
    return arguments


def read_case_text(written: Any) -> str:
    """A text as it is, repeated, or put together from parts."""
    if isinstance(written, str):
        return written
    value = read_case_value(written)
    assert isinstance(value, str), f"{written!r} is no text"
    return value


def _join(written: dict[str, Any]) -> str | XArray:
    """Texts, or lists, one after the other."""
    parts = [part if isinstance(part, str) else read_case_value(part) for part in written["concat"]]
    if all(isinstance(part, XArray) for part in parts):
        return XArray([item for part in parts for item in part])
    return "".join(map(read_case_text, written["concat"]))


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
    "text": lambda written: read_case_text(written["text"]),
    "number": lambda written: Decimal(written["number"]),
    "boolean": lambda written: written["boolean"],
    "date": lambda written: date.fromisoformat(written["date"]),
    "time": lambda written: time.fromisoformat(written["time"][:15]),
    "datetime": _read_datetime,
    "array": _read_array,
    "concat": _join,
    "repeat_array": _repeat_array,
    "repeat_text": lambda written: read_case_text(written["repeat_text"][0]) * int(written["repeat_text"][1]),
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
