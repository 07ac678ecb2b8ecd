"""The one family of rule violations that persistence raises; handlers turn them into answers in one place."""

from collections.abc import Iterator, Mapping
from typing import Any


class RuleBroken(Exception):
    """A request that the rules of the service refuse; nothing was changed."""


class LostRace(Exception):
    """Another unit of work changed what this one had read; `Database.write` runs it again on what that left."""


class InvalidInput(RuleBroken):
    """Values that break a rule, keyed by field: `{"text": ["..."]}`, `{"urns": {"0": ["..."]}}`."""

    def __init__(self, errors: Mapping[str, Any]) -> None:
        super().__init__("; ".join(_list_sentences(errors)))
        self.errors = dict(errors)

    @classmethod
    def on(cls, field: str, message: str) -> "InvalidInput":
        return cls({field: [message]})

    @classmethod
    def at(cls, field: str, index: int | str, message: str) -> "InvalidInput":
        """A bad element of a list or dictionary field."""
        return cls({field: {str(index): [message]}})

    @classmethod
    def across(cls, message: str) -> "InvalidInput":
        """A rule about several fields."""
        return cls({"non_field_errors": [message]})


def _list_sentences(errors: Any, place: str = "") -> Iterator[str]:
    """Each text of a tree of errors with the place it is about, like `urns.0: No address.`."""
    if isinstance(errors, Mapping):
        for key, inner in errors.items():
            name = "" if key == "non_field_errors" else str(key)
            yield from _list_sentences(inner, ".".join(part for part in (place, name) if part))
    elif isinstance(errors, (list, tuple)):
        for inner in errors:
            yield from _list_sentences(inner, place)
    else:
        yield f"{place}: {errors}" if place else str(errors)


class Refused(RuleBroken):
    """A request that the present state or its parameters do not allow (400 with a detail)."""


class RecordMissing(RuleBroken):
    """The record to change does not exist in this workspace."""

    def __init__(self, message: str = "No such record.") -> None:
        super().__init__(message)


class SystemRecord(RuleBroken):
    """System objects cannot be changed."""

    def __init__(self, message: str = "System objects cannot be changed.") -> None:
        super().__init__(message)


class NotAllowed(RuleBroken):
    """The role or the scope of the token does not allow the operation."""


class LimitReached(RuleBroken):
    """The workspace holds as many objects of this kind as it may."""

    def __init__(self, message: str = "The workspace has reached its limit for this kind of object.") -> None:
        super().__init__(message)


class Clash(RuleBroken):
    """Two requests collide: the same idempotency key with another body."""
