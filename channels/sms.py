"""Texts in the parts that a gateway takes, by characters or by segments of an SMS, and parts that came in joined.

Texts as SMS: their alphabet and number of segments, parts that fit, and transliteration into the short alphabet.

An SMS has 140 bytes: 160 characters of the default alphabet of GSM (3GPP TS 23.038, 6.2.1), or 70 units of UTF-16 if
one character of the text is in neither that alphabet nor its extension. A header takes seven and three of these from
each segment of a longer text. A character of the extension takes two, of which none is in the next segment.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from channels.calls import Received
from flows.words import cut_between_letters, list_letters


def with_links(text: str, urls: Iterable[str]) -> str:
    """The text as it goes where files cannot: their URLs follow it."""
    return "\n".join([text, *urls]).strip("\n")


def split_text(text: str, length: int) -> list[str]:
    """Parts of at most `length` characters, cut at white space if there is any in the second half of a part, and
    otherwise between letters as people see them."""
    parts = []
    while len(text) > length:
        cut = max(text.rfind(" ", length // 2, length + 1), text.rfind("\n", length // 2, length + 1))
        cut = cut if cut > 0 else len(cut_between_letters(text, length))
        parts.append(text[:cut].rstrip())
        text = text[cut:].lstrip()
    return [*parts, text] if text or not parts else parts


@dataclass(frozen=True, slots=True)
class Piece:
    """A part (from 1) of a person's message of so many; all have its reference, sender and destination."""

    sender: str
    destination: str
    reference: int
    total: int
    number: int
    text: str


def join(pieces: Sequence[Piece]) -> Received:
    """The message of these pieces; what is missing is left out."""
    ordered = sorted(pieces, key=lambda each: each.number)
    return Received(ordered[0].sender, "".join(each.text for each in ordered))


BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§"
    "¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
EXTENDED = frozenset("^{}\\[~]|€\f")
_SHORT = re.compile(f"[{re.escape(''.join(sorted(BASIC | EXTENDED)))}]*")
_EXTENDED = re.compile(f"[{re.escape(''.join(sorted(EXTENDED)))}]")
SCHEME = "tel"
SINGLE, PART = 160, 153
WIDE_SINGLE, WIDE_PART = 70, 67

SIGNS = {
    "'": "‘’‚‛′‹›`´ʼʻ",
    '"': "“”„‟″«»",
    "-": "‐‑‒–—―−",
    "...": "…",
    "*": "•",
    " ": "\t\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f",
    "": "\u00ad\u200b\u200e\u200f\u2060\ufeff",
    "x": "×",
    "(c)": "©",
    "(R)": "®",
    "(TM)": "™",
    "No.": "№",
}
LETTERS = (
    "a=ª b=ɓ B=Ɓ d=đɗɖð D=ĐƊƉÐ e=əɛ E=ƏƐ f=ƒ F=Ƒ g=ɣ G=Ɣ h=ħ H=Ħ i=ıɩ I=Ɩ k=ƙĸ K=Ƙ l=łŀ L=ŁĿ n=ŋɲ N=ŊƝ o=ɔº O=Ɔ "
    "t=ŧƭ T=ŦƬ u=ʊ U=Ʊ v=ʋ V=Ʋ y=ƴ Y=Ƴ z=ƶ Z=Ƶ oe=œ OE=Œ th=þ TH=Þ ij=ĳ IJ=Ĳ"
)
"""Signs and Latin letters that have no canonical decomposition, by how they are written without them."""
WRITTEN = [*SIGNS.items(), *(pair.split("=") for pair in LETTERS.split())]
PLAIN = {each: plain for plain, others in WRITTEN for each in others}


@dataclass(frozen=True, slots=True)
class Length:
    """The length of a text in characters of its alphabet (`gsm` or `ucs2`), and the number of SMS for it."""

    encoding: str
    characters: int
    segments: int


def is_short(text: str) -> bool:
    """Whether all characters are in the default alphabet of GSM or its extension."""
    return _SHORT.fullmatch(text) is not None


def measure(text: str) -> Length:
    """The number of SMS that a text takes; an empty one takes none.

    >>> measure("Is the clinic open?")
    Length(encoding='gsm', characters=19, segments=1)
    >>> measure("Где?").encoding
    'ucs2'
    """
    if is_short(text):
        size = len(text) + len(_EXTENDED.findall(text))
        if size <= SINGLE:
            return Length("gsm", size, 1 if size else 0)
        costs = [2 if character in EXTENDED else 1 for character in text]
        return Length("gsm", size, _count(costs, SINGLE, PART))
    costs = [cost for letter in list_letters(text) for cost in _list_wide_costs(letter)]
    return Length("ucs2", sum(costs), _count(costs, WIDE_SINGLE, WIDE_PART))


def count_segments(urn: str | None, text: str, urls: Iterable[str] = ()) -> int | None:
    """The number of SMS that a message from or to this URN takes, whose files go as URLs; None if it is no SMS.

    >>> count_segments("tel:+250780000001", "Is the clinic open?"), count_segments("telegram:1234", "Yes")
    (1, None)
    """
    is_sms = urn is not None and urn.partition(":")[0] == SCHEME
    return measure(with_links(text, urls)).segments if is_sms else None


def cut(text: str, segments: int = 1) -> list[str]:
    """Parts that take at most so many segments each, cut at white space if there is any in the second half of a part,
    and otherwise between letters as people see them. A text that fits is its only part.

    >>> [len(part) for part in cut("a" * 200)]
    [160, 40]
    """
    letters = [piece for letter in list_letters(text) for piece in _list_pieces(letter, segments)]
    parts: list[str] = []
    while letters:
        most = min(len(letters), segments * SINGLE)
        size = bisect_right(range(1, most + 1), segments, key=lambda number: _measure_first(letters, number))
        if size == len(letters):
            return [*parts, "".join(letters)]
        size = next((at for at in range(size, size // 2, -1) if letters[at].isspace()), size)
        parts.append("".join(letters[:size]).rstrip())
        letters = letters[size:]
        letters = letters[next((at for at, letter in enumerate(letters) if not letter.isspace()), len(letters)) :]
    return parts or [text]


def transliterate(text: str) -> str:
    """The text in the alphabet of GSM: without accents that it does not have, with typewriter quotes and dashes. A text
    that has no such form as a whole, for example one in another script or with an emoji, is not changed.

    >>> transliterate("“Où est Łódź?” – ça va…")
    '"Où est Lodz?" - ca va...'
    >>> transliterate("“Где?”")
    '“Где?”'
    """
    if is_short(text):
        return text
    found = "".join(map(_write_plainly, unicodedata.normalize("NFC", text)))
    return found if is_short(found) else text


def _write_plainly(character: str) -> str:
    if is_short(character):
        return character
    known = PLAIN.get(character)
    if known is not None:
        return known
    base = [each for each in unicodedata.normalize("NFD", character) if unicodedata.category(each) != "Mn"]
    return "".join(PLAIN.get(each, each) for each in base)


def _measure_first(letters: list[str], number: int) -> int:
    return measure("".join(letters[:number])).segments


def _list_pieces(letter: str, segments: int) -> list[str]:
    """A letter, or the characters of one that no part has room for."""
    return [letter] if len(letter) == 1 or measure(letter).segments <= segments else list(letter)


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
