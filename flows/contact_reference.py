"""Short references of contacts: their numeric ids, encoded so that they reveal neither number nor order of contacts."""

from collections.abc import Iterator

ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
LENGTH = 6
_HALF_BITS = 15
_HALF_MASK = (1 << _HALF_BITS) - 1
_ROUND_KEYS = (0x5A17, 0x31C9, 0x6E43, 0x0BD5)


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


def _mix(half: int, key: int) -> int:
    return ((half * 0x2C1B + key) ^ (half >> 7)) & _HALF_MASK


def _letters(number: int) -> Iterator[str]:
    for position in reversed(range(LENGTH)):
        yield ALPHABET[number >> 5 * position & 31]
