"""Checks of single properties, from which the checks of actions are made.

A check takes the value of a property, None where there is none, and raises Fault if it may not be used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

from flows.definition.raw_parts import is_uuid
from flows.expressions.decimals import check_range
from flows.expressions.errors import ExpressionError


class Fault(Exception):
    """What is wrong with a value; `path` leads from the property to the part at fault, like `[0].uuid`."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path


Check: TypeAlias = Callable[[Any], None]


def text(longest: int | None = None, *, needed: bool = False, pattern: str = "") -> Check:
    """A text of limited length; `needed` refuses an empty one, too. A pattern has to match all of it."""
    compiled = re.compile(pattern)

    def check(value: Any) -> None:
        if value is None or value == "":
            if needed:
                raise Fault("is needed")
            return
        if not isinstance(value, str):
            raise Fault("is no text")
        if longest is not None and len(value) > longest:
            raise Fault(f"is longer than {longest} characters")
        if pattern and not compiled.fullmatch(value):
            raise Fault("has characters that it may not have")

    return check


def one_of(values: Collection[str]) -> Check:
    """One of some texts."""

    def check(value: Any) -> None:
        if not isinstance(value, str) or value not in values:
            raise Fault(f"is none of {', '.join(sorted(values))}")

    return check


def items(check_item: Check, most: int | None = None, *, needed: bool = False) -> Check:
    """A list of limited length whose items are all checked."""

    def check(value: Any) -> None:
        if needed and value is None:
            raise Fault("is needed")
        if value is not None and not isinstance(value, list):
            raise Fault("is no list")
        if value and most is not None and len(value) > most:
            raise Fault(f"has more than {most} items")
        for position, item in enumerate(value or ()):
            _check_part(check_item, item, f"[{position}]")

    return check


def reference(longest_name: int | None = None, *, match: str = "", key: str = "uuid", needed: bool = False) -> Check:
    """A reference to an asset by UUID or key; with `match`, by a template in the property of that name instead."""
    check_name = text(longest_name)
    check_key = _check_uuid if key == "uuid" else text(needed=True)

    def check(value: Any) -> None:
        if value is None and not needed:
            return
        if not isinstance(value, Mapping):
            raise Fault("is no reference")
        if not (match and value.get(match) and not value.get(key)):
            _check_part(check_key, value.get(key), f".{key}")
        _check_part(check_name, value.get("name"), ".name")
        if match:
            _check_part(text(), value.get(match), f".{match}")

    return check


def user(value: Any) -> None:
    """Checks a reference to a user: by UUID, or by an e-mail address that may be a template."""
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise Fault("is no reference")
    match = "email_match" if value.get("email_match") else "email"
    reference(match=match, needed=True)(value)


def texts_by_name(most: int, longest_name: int, longest: int, name_pattern: str) -> Check:
    """An object of limited size with texts as values; its names have to match a pattern."""
    check_name, check_text = text(longest_name, needed=True, pattern=name_pattern), text(longest)

    def check(value: Any) -> None:
        if value is not None and not isinstance(value, Mapping):
            raise Fault("is no object")
        if value and len(value) > most:
            raise Fault(f"has more than {most} items")
        for name, item in (value or {}).items():
            _check_part(check_name, name, f".{name}")
            _check_part(check_text, item, f".{name}")

    return check


def amounts_by_currency(largest: Decimal, longest_currency: int) -> Check:
    """An object that is not empty, with currency codes as names and numbers from 0 to `largest` as values."""
    check_currency = text(longest_currency, needed=True)

    def check_amount(value: Any) -> None:
        # Only a number within the range of numbers can be compared without writing out all of its digits.
        if not 0 <= _check_number(value) <= largest:
            raise Fault(f"is not between 0 and {largest:f}")

    def check(value: Any) -> None:
        if not isinstance(value, Mapping) or not value:
            raise Fault("is no object with amounts")
        for name, item in value.items():
            _check_part(check_currency, name, f".{name}")
            _check_part(check_amount, item, f".{name}")

    return check


def truth(value: Any) -> None:
    """Checks true, false or nothing."""
    if value is not None and not isinstance(value, bool):
        raise Fault("is neither true nor false")


def _check_part(check: Check, value: Any, path: str) -> None:
    try:
        check(value)
    except Fault as fault:
        raise Fault(fault.message, path + fault.path) from None


def _check_uuid(value: Any) -> None:
    if not is_uuid(value):
        raise Fault("is no UUID")


def _check_number(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise Fault("is no number")
    try:
        return check_range(Decimal(str(value) if isinstance(value, float) else value))
    except (ExpressionError, InvalidOperation):
        raise Fault("is out of the range of numbers") from None
