"""The meaning of conditions without a property: a name, a number, a URN (flow format, implicit conditions)."""

import re

from flows import urns
from flows.environment import Environment
from flows.phones import parse_phone
from flows.queries.tree import Condition
from flows.typed import search_form
from flows.words import is_without_spaces, search_words

NAME_WORD_LENGTH_MIN = 2
ADDRESS_PART_LENGTH_MIN = 3

_PHONE_PART = re.compile(r"\+?[0-9-]{4,}")
_NOT_DIALLED = re.compile(r"[^0-9+]")
# References avoid the letters and digits that are easily confused: 0, 1, I and O.
_CONTACT_REFERENCE = re.compile(r"[2-9A-HJ-NP-Z]{6,}")


def read_whole_query(environment: Environment, text: str) -> Condition | None:
    """The condition for a query that is a phone number as a whole, otherwise None."""
    if environment.redacts_urns:
        return None
    number = parse_phone(text, environment.default_country)
    return Condition("scheme", "tel", "=", number) if number else None


def read_value(environment: Environment, value: str) -> Condition:
    """The condition for a value without a property."""
    if environment.redacts_urns:
        is_reference = _CONTACT_REFERENCE.fullmatch(value)
        return Condition("attribute", "ref", "=", value) if is_reference else _read_name(value)
    return _read_address(value) or _read_number(value) or _read_name(value)


def has_searchable_word(value: str) -> bool:
    """Whether names can be searched by a value: by one of its words."""
    return any(map(is_searchable, search_words(search_form(value))))


def is_searchable(word: str) -> bool:
    """Whether names can be searched by a word: it has two characters, or is of a script without spaces, in which one
    says as much.
    """
    return len(word) >= NAME_WORD_LENGTH_MIN or is_without_spaces(word)


def _read_address(value: str) -> Condition | None:
    try:
        urn = urns.parse(value)
    except urns.UrnError:
        return None
    scheme = urn.scheme.lower()
    return Condition("scheme", scheme, "=", urn.path) if scheme in urns.SCHEMES else None


def _read_number(value: str) -> Condition | None:
    if not _PHONE_PART.fullmatch(value):
        return None
    digits = _NOT_DIALLED.sub("", value)
    return Condition("scheme", "tel", "~", digits) if len(digits) >= ADDRESS_PART_LENGTH_MIN else None


def _read_name(value: str) -> Condition:
    return Condition("attribute", "name", "~" if has_searchable_word(value) else "=", value)
