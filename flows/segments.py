"""How many SMS a text takes."""

from dataclasses import dataclass

from flows.words import list_letters

BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§"
    "¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
EXTENDED = frozenset("^{}\\[~]|€\f")
SINGLE, PART = 160, 153
WIDE_SINGLE, WIDE_PART = 70, 67


@dataclass(frozen=True, slots=True)
class Length:
    """The length of a text in characters of its alphabet (`gsm` or `ucs2`), and the number of SMS for it."""

    encoding: str
    characters: int
    segments: int


def measure(text: str) -> Length:
    """The number of SMS that a text takes; an empty one takes none.

    >>> measure("Is the clinic open?")
    Length(encoding='gsm', characters=19, segments=1)
    >>> measure("Где?").encoding
    'ucs2'
    """
    if all(character in BASIC or character in EXTENDED for character in text):
        costs = [2 if character in EXTENDED else 1 for character in text]
        return Length("gsm", sum(costs), _count(costs, SINGLE, PART))
    costs = [cost for letter in list_letters(text) for cost in _list_wide_costs(letter)]
    return Length("ucs2", sum(costs), _count(costs, WIDE_SINGLE, WIDE_PART))


def _list_wide_costs(letter: str) -> list[int]:
    """What is not divided between two parts: a letter or emoji, or the characters of one that no part has room for."""
    costs = [2 if ord(character) > 0xFFFF else 1 for character in letter]
    return [sum(costs)] if sum(costs) <= WIDE_PART else costs


def _count(costs: list[int], single: int, part: int) -> int:
    """The number of parts; what has one cost is not divided between two."""
    if sum(costs) <= single:
        return 1 if costs else 0
    parts, room = 1, part
    for cost in costs:
        if cost > room:
            parts, room = parts + 1, part
        room -= cost
    return parts
