"""By which channel messages to a URN go: the one rule of flows, broadcasts, campaigns, tickets and the API."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from flows.phones import country_of

PHONES = "tel"


class Sender(Protocol):
    """What decides whether messages go through a channel. `match_prefixes` are the beginnings of numbers for which it
    is preferred, instead of its own number. `is_down`: it has failed for long."""

    @property
    def address(self) -> str: ...
    @property
    def country(self) -> str: ...
    @property
    def match_prefixes(self) -> Sequence[str]: ...
    @property
    def allow_international(self) -> bool: ...
    @property
    def is_down(self) -> bool: ...


S = TypeVar("S", bound=Sender)


def choose_channel(scheme: str, path: str, able: Sequence[S], own: S | None = None) -> S | None:
    """The channel for messages to a URN, of those that can send to its scheme, the best last: its own one, otherwise
    for a number the nearest and for all else the best. One that has failed for long is passed over while another can
    serve; if none can, messages wait for the one that would serve otherwise.
    """
    if own is not None and not own.is_down:
        return own
    up = [each for each in able if not each.is_down]
    found = _choose_nearest(scheme, path, up)
    return found or own or (_choose_nearest(scheme, path, able) if len(up) < len(able) else None)


def choose_usual(scheme: str, path: str, able: Sequence[S], own: S | None = None) -> S | None:
    """The channel that would be chosen if none had failed."""
    return own or _choose_nearest(scheme, path, able)


def _choose_nearest(scheme: str, path: str, senders: Sequence[S]) -> S | None:
    """For a number not one of another country unless it allows this, because such messages cost much more; of the
    others the one with the most similar number, and among equals the last."""
    if scheme == PHONES and any(each.country and not each.allow_international for each in senders):
        country = country_of(path)
        near = ("", country)
        senders = [each for each in senders if not country or each.allow_international or each.country in near]
    if len(senders) < 2 or scheme != PHONES:
        return senders[-1] if senders else None
    return max(reversed(senders), key=lambda sender: _shared_beginning(path, sender))


def _shared_beginning(number: str, sender: Sender) -> int:
    number = number.lstrip("+")
    prefixes = [prefix.lstrip("+") for prefix in sender.match_prefixes or (sender.address,)]
    return max(_common_length(number, prefix) for prefix in prefixes)


def _common_length(first: str, second: str) -> int:
    pairs = zip(first, second, strict=False)
    return next((index for index, (one, other) in enumerate(pairs) if one != other), min(len(first), len(second)))
