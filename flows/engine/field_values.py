"""Values of contact fields: how a string is read for a field of any type (flow format, field values)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime as Moment
from decimal import Decimal, InvalidOperation
from typing import Any, Self

from flows.moments import parse_moment
from flows.numbers import NumberError, parse_decimal

_PLACE_LEVELS = ("state", "district", "ward")


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A string and everything as which it can be read; datetimes are kept as ISO strings, places as paths."""

    text: str
    number: Decimal | None = None
    datetime: str = ""
    state: str = ""
    district: str = ""
    ward: str = ""

    @classmethod
    def from_json(cls, source: Mapping[str, Any]) -> Self:
        """Reads the stored form."""
        text = str(source.get("text") or "")
        texts = {name: str(source.get(name) or "") for name in ("datetime", *_PLACE_LEVELS)}
        return cls(text, _read_number(text, source.get("number")), **texts)

    def to_json(self) -> dict[str, Any]:
        """The stored form, without empty parts."""
        written: dict[str, Any] = {"text": self.text}
        if self.datetime:
            written["datetime"] = self.datetime
        if self.number is not None:
            written["number"] = plain_number(self.number)
        for level in _PLACE_LEVELS:
            if getattr(self, level):
                written[level] = getattr(self, level)
        return written

    @property
    def moment(self) -> Moment | None:
        """The datetime as such."""
        return parse_moment(self.datetime) if self.datetime else None

    def typed(self, field_type: str) -> str | Decimal | Moment | None:
        """The part with the field's own type, None if the string cannot be read as that type."""
        if field_type == "number":
            return self.number
        if field_type == "datetime":
            return self.moment
        if field_type in _PLACE_LEVELS:
            return getattr(self, field_type) or None
        return self.text


def plain_number(number: Decimal) -> int | float | str:
    """A number for JSON: an integer if it is whole, a string in the rare case that a float would not be exact."""
    if number == number.to_integral_value():
        return int(number)
    approximate = float(number)
    return approximate if Decimal(repr(approximate)) == number else format(number, "f")


def _read_number(text: str, stored: object) -> Decimal | None:
    if stored is None:
        return None
    known = _read_stored(stored)
    try:
        # The string is exact if JSON's number may not be; in another number format it is another number.
        exact = parse_decimal(text)
    except NumberError:
        return known
    return exact if known is None or math.isclose(exact, known) else known


def _read_stored(stored: object) -> Decimal | None:
    try:
        number = Decimal(str(stored))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
