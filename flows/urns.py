"""URNs, the addresses of contacts: `scheme:path[?query][#display]`. A URN is first parsed (its syntax), then normalized
(the same address always gets the same text), then validated (its path must match its scheme). `read_urn` does all
three. By which channel messages to a URN go: the one rule of flows, broadcasts, campaigns, tickets and the API.

Short references of contacts: their numeric ids, encoded so that they reveal neither number nor order of contacts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar
from urllib.parse import parse_qs, urlencode

from flows.phones import PhoneError, country_of, is_possible, national_format, normalize_number, parse_number
from flows.typed import clean, plain
from flows.urn_schemes import PATH_RULES, SCHEMES, SHORT_TEL_PATH, TWITTER_HANDLE

__all__ = [
    "SCHEMES",
    "URN_LENGTH_MAX",
    "Urn",
    "UrnError",
    "check_urn",
    "from_parts",
    "normalize",
    "parse",
    "read_phone_urn",
    "read_urn",
    "validate",
]

PHONES = "tel"


PATH_LENGTH_MAX = 200
URN_LENGTH_MAX = 255

_ESCAPES = {"%": "%25", "#": "%23", "?": "%3F"}
_ESCAPED = re.compile("[%#?]")
_UNESCAPES = re.compile("%25|%23|%3F", re.IGNORECASE)
_BEFORE_HANDLE = re.compile(r"^[@\s]+")
_BUSINESS_ID = re.compile(r"[a-zA-Z]{2}\..*", re.DOTALL)

ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
LENGTH = 6
_HALF_BITS = 15
_HALF_MASK = (1 << _HALF_BITS) - 1
_ROUND_KEYS = (0x5A17, 0x31C9, 0x6E43, 0x0BD5)


class UrnError(ValueError):
    """A string is not a URN; the message says which part is wrong."""


@dataclass(frozen=True, slots=True)
class Urn:
    """One URN. `query` is raw, without its question mark; `display` is a name to show instead of the path."""

    scheme: str
    path: str
    query: str = ""
    display: str = ""

    def __str__(self) -> str:
        query = f"?{self.query}" if self.query else ""
        display = f"#{_escape(self.display)}" if self.display else ""
        return f"{self.identity}{query}{display}"

    @property
    def identity(self) -> str:
        """Scheme and path only, which belong to at most one contact of a workspace."""
        return f"{self.scheme}:{_escape(self.path)}"

    @property
    def query_values(self) -> dict[str, list[str]]:
        """The query's values by name."""
        return parse_qs(self.query, keep_blank_values=True)

    def show(self) -> str:
        """The form for people: the display name, otherwise the national form of a number, otherwise the path."""
        if self.display:
            return self.display
        return national_format(self.path) if self.scheme == "tel" else self.path


def parse(text: str) -> Urn:
    """Splits a URN into its parts; only its syntax is checked. Raises UrnError."""
    scheme, _, rest = text.partition(":")
    rest, *fragments = rest.split("#")
    path, *queries = rest.split("?")
    if not scheme:
        raise UrnError("scheme cannot be empty")
    if len(fragments) > 1:
        raise UrnError("fragment component can only come after path or query components")
    if len(queries) > 1:
        raise UrnError("query component can only come after path component")
    if not path:
        raise UrnError("path cannot be empty")
    return Urn(scheme, _unescape(path), queries[0] if queries else "", _unescape(fragments[0]) if fragments else "")


def normalize(urn: Urn, country: str | None = None) -> Urn:
    """Brings a URN into the form in which it is compared and stored. With a country, which may be empty for a workspace
    without one, numbers are read as people type them, and everything except letters and digits is removed. Without
    (None), numbers that cannot be read are not changed.
    """
    scheme = urn.scheme.lower()
    path = _normalize_path(scheme, plain(urn.path).strip() if scheme in PATH_RULES else clean(urn.path), country)
    return replace(urn, scheme=scheme, path=path, display=clean(urn.display))


def validate(urn: Urn, *, lenient: bool = False, path_length: int = PATH_LENGTH_MAX) -> None:
    """Checks a normalized URN; raises UrnError. Leniently, `tel` paths may also be short codes and names of senders,
    which only come from channels. The flow format allows paths of 200 characters; a host may allow `path_length` in
    URNs of 255.
    """
    if urn.scheme not in SCHEMES:
        raise UrnError("unknown URN scheme")
    if not urn.path:
        raise UrnError("scheme or path cannot be empty")
    if len(_escape(urn.path)) > path_length:
        raise UrnError("path component too long")
    if not _is_valid_path(urn, lenient=lenient):
        raise UrnError("invalid path component")
    if urn.scheme == "twitterid" and urn.display and not TWITTER_HANDLE.fullmatch(urn.display.lstrip("@")):
        raise UrnError("invalid display component")
    if len(str(urn)) > URN_LENGTH_MAX:
        raise UrnError(f"longer than {URN_LENGTH_MAX} characters")


def read_urn(
    text: str, country: str | None = None, *, lenient: bool = False, path_length: int = PATH_LENGTH_MAX
) -> Urn:
    """Parses, normalizes and validates a URN. Raises UrnError."""
    urn = normalize(parse(text), country)
    validate(urn, lenient=lenient, path_length=path_length)
    return urn


def check_urn(text: str, *, lenient: bool = True) -> None:
    """Checks that a string is a URN in its normalized form. Raises UrnError."""
    try:
        urn = parse(text)
    except UrnError as error:
        raise UrnError("scheme or path cannot be empty") from error
    validate(urn, lenient=lenient)


def from_parts(
    scheme: str,
    path: str,
    query: Mapping[str, Sequence[str]] | None = None,
    display: str = "",
    *,
    lenient: bool = True,
    path_length: int = PATH_LENGTH_MAX,
) -> Urn:
    """Creates a normalized, valid URN from its parts. Raises UrnError."""
    urn = normalize(Urn(scheme, path, urlencode(query or {}, doseq=True), display))
    validate(urn, lenient=lenient, path_length=path_length)
    return urn


def read_phone_urn(text: str, country: str = "", *, allow_short: bool = True, allow_sender: bool = True) -> Urn:
    """Creates a `tel` URN from a phone number as typed or received. Raises UrnError."""
    try:
        path = parse_number(text, country, allow_short=allow_short, allow_sender=allow_sender)
    except PhoneError as error:
        raise UrnError(str(error)) from error
    return Urn("tel", path)


def write_contact_reference(contact_id: int) -> str:
    """The reference of an id between 1 and 2^30 - 1; an empty string for any other."""
    if not 0 < contact_id < 1 << (2 * _HALF_BITS):
        return ""
    left, right = contact_id >> _HALF_BITS, contact_id & _HALF_MASK
    for key in _ROUND_KEYS:
        left, right = right, left ^ _mix(right, key)
    return "".join(_letters(left << _HALF_BITS | right))


def read_contact_reference(reference: str) -> int | None:
    """The id of a reference in any case; None for any other text."""
    letters = reference.upper()
    if len(letters) != LENGTH or any(letter not in ALPHABET for letter in letters):
        return None
    number = 0
    for letter in letters:
        number = number << 5 | ALPHABET.index(letter)
    left, right = number >> _HALF_BITS, number & _HALF_MASK
    for key in reversed(_ROUND_KEYS):
        left, right = right ^ _mix(left, key), left
    return left << _HALF_BITS | right or None


def _normalize_path(scheme: str, path: str, country: str | None) -> str:
    if scheme == "tel":
        return _normalize_tel(path, country)
    if scheme == "mailto":
        return path.lower()
    if scheme == "twitter":
        return _BEFORE_HANDLE.sub("", path).lower()
    if scheme in ("whatsapp", "bsuid") and _BUSINESS_ID.fullmatch(path):
        return path[:2].upper() + path[2:]
    return path


def _normalize_tel(path: str, country: str | None) -> str:
    if country is not None:
        return normalize_number(path, country)
    try:
        return parse_number(path, allow_short=True, allow_sender=True)
    except PhoneError:
        return path


def _is_valid_path(urn: Urn, *, lenient: bool) -> bool:
    if urn.scheme == "tel":
        is_number = urn.path.startswith("+") and is_possible(urn.path)
        return is_number or (lenient and SHORT_TEL_PATH.fullmatch(urn.path) is not None)
    rule = PATH_RULES.get(urn.scheme)
    return rule is None or rule.fullmatch(urn.path) is not None


def _escape(text: str) -> str:
    return _ESCAPED.sub(lambda match: _ESCAPES[match.group()], text)


def _unescape(text: str) -> str:
    return _UNESCAPES.sub(lambda match: chr(int(match.group()[1:], 16)), text)


def _mix(half: int, key: int) -> int:
    return ((half * 0x2C1B + key) ^ (half >> 7)) & _HALF_MASK


def _letters(number: int) -> Iterator[str]:
    for position in reversed(range(LENGTH)):
        yield ALPHABET[number >> 5 * position & 31]


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
