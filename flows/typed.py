"""What people type, read in one way at every door (docs/typing.md). Texts are stored as typed, names without invisible
marks; what stands here is how they are read and compared:

* `clean` is how a name is stored;
* `plain` is how codes, numbers, dates, phone numbers and queries are read;
* `same_form` is equal for texts that are the same (`=` of queries, unique names, keywords, router tests);
* `search_form` is what searches look into (`~` of queries, search boxes): it also ignores accents.

PostgreSQL computes the two forms itself, from the same tables (`persistence.sql.query_functions`).
"""

import unicodedata
from functools import lru_cache

import regex

CACHED_TEXTS, CACHED_LENGTH = 4096, 100

INVISIBLE = "".join(
    map(
        chr,
        (
            *(0xAD, 0x34F, 0x61C, 0x17B4, 0x17B5, *range(0x180B, 0x1810), *range(0x200B, 0x2010)),
            *(*range(0x202A, 0x202F), *range(0x2060, 0x2070), 0x20E3, *range(0xFE00, 0xFE10), 0xFEFF),
        ),
    )
)
"""Soft hyphens, zero-width and direction marks, what chooses the look of a sign, and the box around a keycap."""
SPACES = "".join(map(chr, (0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)))
APOSTROPHES = "\u00b4\u02b9\u02bb\u02bc\u02bd\u02bf\u2018\u2019\u201a\u201b\u2032\u2035\ua78b\ua78c\uff07\uff40"
QUOTES = "\u00ab\u00bb\u201c\u201d\u201e\u201f\u2033\u2036\u300c\u300d\u300e\u300f\u301d\u301e\uff02"
DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
_FIRST_DIGITS = (
    *(0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6, 0xE50, 0xED0),
    *(0xF20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620),
    *(0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0x104A0, 0x10D30, 0x11066, 0x11136, 0x1E140, 0x1E2F0, 0x1E950),
)
DIGITS = {chr(first + number): str(number) for first in _FIRST_DIGITS for number in range(10)}
"""The decimal digits of the scripts that phones write; Unicode's compatibility forms have those of all others."""
_CIRCLED = {chr(first + number): str(number + 1) for first in (0x2776, 0x2780, 0x278A) for number in range(9)}
ODD: dict[str, str] = {
    **dict.fromkeys(INVISIBLE, ""),
    **dict.fromkeys(SPACES, " "),
    **dict.fromkeys(APOSTROPHES, "'"),
    **dict.fromkeys(QUOTES, '"'),
    **dict.fromkeys(DASHES, "-"),
    **DIGITS,
    **_CIRCLED,
}
"""Signs that mean another one, or nothing."""

ACCENTS = (
    *((0x300, 0x36F), (0x483, 0x487), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE20, 0xFE2F)),
    *((0x591, 0x5BD), (0x5BF, 0x5BF), (0x5C1, 0x5C2), (0x5C4, 0x5C5), (0x5C7, 0x5C7)),
    *((0x610, 0x61A), (0x640, 0x640), (0x64B, 0x65F), (0x670, 0x670), (0x6D6, 0x6DC), (0x6DF, 0x6E4), (0x6E7, 0x6E8)),
    *((0x6EA, 0x6ED), (0x8D3, 0x8E1), (0x8E3, 0x8FF)),
)
"""Marks that searches ignore, first and last of each range: accents of Latin, Greek and Cyrillic letters, points and
vowels of Hebrew and Arabic ones. Vowels and tones of Indian and Southeast Asian scripts are no accents."""
LIKE_ANOTHER = {
    **dict(zip("øłđħŧıɨƀɓɗɖƙƴŋɔɛǝəʒðþĸ", "oldhtiibbddkynoeeezdtk", strict=True)),
    **dict(zip("ىيکۀةأإآٱئؤ", "ییكههاااایو", strict=True)),
    "\u03c2": "\u03c3",
    "\u2019": "'",
}
"""Letters for which people type another one."""
TWO_LETTERS = {"ß": "ss", "æ": "ae", "œ": "oe"}

_UNDIVIDED_RANGES = (
    *((0xE01, 0xE3A), (0xE40, 0xE5B), (0xE81, 0xEDF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1950, 0x19FF)),
    *((0x1A20, 0x1AAF), (0x2E80, 0x2FD5), (0x3005, 0x3007), (0x3021, 0x3029), (0x3038, 0x303B), (0x3041, 0x3096)),
    *((0x309D, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF), (0x32D0, 0x32FE), (0x3300, 0x3357)),
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA980, 0xA9FF), (0xAA60, 0xAADF), (0xF900, 0xFAFF), (0xFF66, 0xFF9D)),
    *((0x116D0, 0x116E3), (0x16FE2, 0x16FF6), (0x1AFF0, 0x1B168), (0x20000, 0x3347F)),
)
WITHOUT_SPACES = "".join(f"{chr(first)}-{chr(last)}" for first, last in _UNDIVIDED_RANGES)
"""The letters of scripts whose words stand without spaces between them, for a class of regular expressions: Thai, Lao,
Khmer, Burmese, Chinese, Japanese, Tai and Javanese ones. Written out, because the index of PostgreSQL has them too.
"""

_ODD_TABLE = str.maketrans(ODD)
_ANOTHER = str.maketrans({**LIKE_ANOTHER, **TWO_LETTERS})
_SIGMA = str.maketrans({"\u03c2": "\u03c3"})
_ACCENT = regex.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in ACCENTS) + "]+")
_AT_ENDS = INVISIBLE.replace("\u20e3", "") + SPACES + " \t\r\n\v\f\x1c\x1d\x1e\x1f"
_DIRECTIONS = dict.fromkeys((0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF))
_SPACE_TABLE = str.maketrans(dict.fromkeys(SPACES, " "))
_SPACE_BEFORE_UNDIVIDED = regex.compile(f" +(?=[{WITHOUT_SPACES}])")


class _Twice(dict[int, str]):
    """What a character becomes: one of a script without spaces stands twice."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        is_undivided = any(first <= code <= last for first, last in _UNDIVIDED_RANGES)
        return self.setdefault(code, letter * 2 if is_undivided else letter)


_TWICE = _Twice()
_OTHER_DIGIT = regex.compile(r"[\p{Nd}--[0-9]]", regex.V1)
_RAISED = "".join(
    letter
    for letter in map(chr, (0xAA, *range(0xB2, 0xBF), *range(0x2070, 0x209D), *range(0x2150, 0x2160), 0x2189))
    if unicodedata.decomposition(letter).startswith(("<super>", "<sub>", "<fraction>"))
)
_NOT_RAISED = regex.compile(f"[^{_RAISED}]+")
"""Raised digits and fractions are no digits of the number that they stand in."""


def compose(text: str) -> str:
    """The same text in Unicode's composed form (NFC), in which equal letters are equal."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def clean(text: str) -> str:
    """How names are stored: composed, without spaces and invisible marks around them and without marks of direction;
    every kind of space is a plain one. What belongs to the spelling stays, such as the joiners of Persian words.
    """
    if text.isascii():
        return text.strip()
    composed = unicodedata.normalize("NFC", text).translate(_DIRECTIONS).translate(_SPACE_TABLE)
    return composed.strip(_AT_ENDS)


def plain(text: str) -> str:
    """How codes, numbers, dates, phone numbers and queries are read: digits, quotes, dashes and spaces of every script
    as those of ASCII, letters in their compatibility form, nothing invisible.
    """
    if text.isascii():
        return text
    known = _NOT_RAISED.sub(lambda part: unicodedata.normalize("NFKC", part[0]), text.translate(_ODD_TABLE))
    # `regex` knows digits of a newer Unicode than Python does: these stay as they are.
    return str(_OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0], digit[0])), known))


def same_form(text: str) -> str:
    """Equal for texts that people take for the same: in any case, and however their letters are written."""
    if text.isascii():
        return text.strip().lower()
    return _same_form_cached(text) if len(text) <= CACHED_LENGTH else _same_form(text)


def _same_form(text: str) -> str:
    known = unicodedata.normalize("NFKC", text.translate(_ODD_TABLE))
    return fold_case(known).translate(_SIGMA).strip()


_same_form_cached = lru_cache(maxsize=CACHED_TEXTS)(_same_form)


def search_form(text: str) -> str:
    """What searches look into and for: like `same_form`, without accents and with the letters that people type instead
    of others. Letters of scripts without spaces have no spaces between them, which only some people write, and stand
    twice: PostgreSQL's index is of three letters each, and a name has two.
    """
    if text.isascii():
        return text.strip().lower()
    return _search_form_cached(text) if len(text) <= CACHED_LENGTH else _search_form(text)


def _search_form(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.translate(_ODD_TABLE))
    bare = _ACCENT.sub("", fold_case(decomposed))
    bare = unicodedata.normalize("NFC", bare.translate(_ANOTHER)).strip()
    twice = bare.translate(_TWICE)
    return twice if twice == bare else str(_SPACE_BEFORE_UNDIVIDED.sub(_leave_out, twice))


def _leave_out(spaces: regex.Match[str]) -> str:
    """Nothing for spaces between two letters of scripts without."""
    before = spaces.string[: spaces.start()][-1:]
    return "" if before and len(_TWICE[ord(before)]) > 1 else spaces[0]


_search_form_cached = lru_cache(maxsize=CACHED_TEXTS)(_search_form)


def fold_case(text: str) -> str:
    """Lower case letter by letter, as in databases: no letter becomes two, and none depends on its neighbors."""
    lowered = text.lower()
    return text if lowered == text else lowered if text.isascii() else "".join(map(_fold_letter, text))


@lru_cache(maxsize=4096)
def _fold_letter(letter: str) -> str:
    # The dotted capital I is the only letter whose lower case has a plain first part.
    return letter.lower()[0]
