"""What people type, read in one way at every door (docs/typing.md). Texts are stored as typed, names without invisible
marks; what stands here is how they are read and compared:

* `clean` is how a name is stored;
* `plain` is how codes, numbers, dates, phone numbers and queries are read;
* `same_form` is equal for texts that are the same (`=` of queries, unique names, keywords, router tests);
* `search_form` is what searches look into (`~` of queries, search boxes): it also ignores accents;
* `indexed_words` are the words of a message by which it is found, `wanted_words` those of a search for messages.

PostgreSQL computes the forms and words itself, from the same tables (`persistence.sql.query_functions`).
"""

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

import regex

CACHED_TEXTS, CACHED_LENGTH = 4096, 100
WORD_LENGTH = 64
"""Words are found by so many letters; PostgreSQL cannot index a word of more than 2 kB."""
PREFIX_LENGTH = 3
"""The last word of a search may be the beginning of one if it is so long: shorter ones begin too many."""

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

SEPARATORS = (
    *((0x80, 0xF7), (0x2C2, 0x2C5), (0x2D2, 0x2EB), (0x2ED, 0x2ED), (0x2EF, 0x2FF), (0x375, 0x375)),
    *((0x3F6, 0x3F6), (0x482, 0x482), (0x55A, 0x55F), (0x589, 0x5C6), (0x5F3, 0x61F), (0x66A, 0x66D)),
    *((0x6D4, 0x6D4), (0x6DD, 0x6DE), (0x6E9, 0x6E9), (0x6FD, 0x6FE), (0x700, 0x70F), (0x7F6, 0x7F9)),
    *((0x7FE, 0x7FF), (0x830, 0x83E), (0x85E, 0x85E), (0x888, 0x888), (0x890, 0x891), (0x8E2, 0x8E2)),
    *((0x964, 0x970), (0x9F2, 0x9F3), (0x9FA, 0x9FB), (0x9FD, 0x9FD), (0xA76, 0xA76), (0xAF0, 0xAF1)),
    *((0xB70, 0xB70), (0xBF3, 0xBFA), (0xC77, 0xC77), (0xC7F, 0xC7F), (0xC84, 0xC84), (0xD4F, 0xD4F)),
    *((0xD79, 0xD79), (0xDF4, 0xDF4), (0xE3F, 0xE3F), (0xF01, 0xF17), (0xF1A, 0xF1F), (0xF34, 0xF34)),
    *((0xF36, 0xF36), (0xF38, 0xF38), (0xF3A, 0xF3D), (0xF85, 0xF85), (0xFBE, 0xFC5), (0xFC7, 0xFDA)),
    *((0x10FB, 0x10FB), (0x1360, 0x1368), (0x1390, 0x1399), (0x1400, 0x1400), (0x166D, 0x166E)),
    *((0x169B, 0x169C), (0x16EB, 0x16ED), (0x1735, 0x1736), (0x1800, 0x180A), (0x1940, 0x1945)),
    *((0x1A1E, 0x1A1F), (0x1B5A, 0x1B6A), (0x1B74, 0x1B7E), (0x1BFC, 0x1BFF), (0x1C3B, 0x1C3F)),
    *((0x1C7E, 0x1C7F), (0x1CC0, 0x1CC7), (0x1CD3, 0x1CD3), (0x2016, 0x214D), (0x214F, 0x214F)),
    *((0x218A, 0x244A), (0x2500, 0x2775), (0x2794, 0x2BFF), (0x2CE5, 0x2CEA), (0x2CF9, 0x2CFC)),
    *((0x2CFE, 0x2CFF), (0x2D70, 0x2D70), (0x2E00, 0x2E2E), (0x2E30, 0x3004), (0x3008, 0x3020)),
    *((0x3030, 0x3030), (0x3037, 0x3037), (0x303D, 0x303F), (0x30A0, 0x30A0), (0x30FB, 0x30FB)),
    *((0x3190, 0x3191), (0x31C0, 0x31E3), (0x327F, 0x327F), (0x4DC0, 0x4DFF), (0xA490, 0xA4C6)),
    *((0xA4FE, 0xA4FF), (0xA60D, 0xA60F), (0xA673, 0xA673), (0xA67E, 0xA67E), (0xA6F2, 0xA716)),
    *((0xA720, 0xA721), (0xA789, 0xA78A), (0xA828, 0xA82B), (0xA836, 0xA839), (0xA874, 0xA877)),
    *((0xA8CE, 0xA8CF), (0xA8F8, 0xA8FA), (0xA8FC, 0xA8FC), (0xA92E, 0xA92F), (0xA95F, 0xA95F)),
    *((0xAA5C, 0xAA5F), (0xAAF0, 0xAAF1), (0xAB5B, 0xAB5B), (0xAB6A, 0xAB6B), (0xABEB, 0xABEB)),
    *((0xFBB2, 0xFE46), (0xFFF9, 0xFFFD), (0x1EEF0, 0x1F0F5), (0x1F10D, 0x1FBCA)),
)
"""What stands between words, first and last of each range beside ASCII: marks, symbols and spaces of all scripts that
a search form can have. Written out, because the index of PostgreSQL has them too."""

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
_BETWEEN_ASCII_WORDS = regex.compile("[^a-z0-9]+")
_BETWEEN_WORDS = regex.compile(
    "[^a-z0-9\x80-\U0010ffff]+|[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in SEPARATORS) + "]+"
)
_UNDIVIDED = regex.compile(f"[{WITHOUT_SPACES}]+")
_UNDIVIDED_OR_NOT = regex.compile(f"[{WITHOUT_SPACES}]+|[^{WITHOUT_SPACES}]+")
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


def indexed_words(text: str) -> list[str]:
    """The words by which a message is found, in their search form and cut to `WORD_LENGTH`. In scripts without spaces
    that is each letter with the one after it, and the first and the last one alone.

    >>> indexed_words("Café, 王小明!")
    ['cafe', '王', '王小', '小明', '明']
    """
    form = search_form(text)
    if form.isascii():
        return [word[:WORD_LENGTH] for word in _BETWEEN_ASCII_WORDS.split(form) if word]
    words = _UNDIVIDED.sub(_pair_letters, _BETWEEN_WORDS.sub(" ", form)).split(" ")
    return [word[:WORD_LENGTH] for word in words if word]


def _pair_letters(run: regex.Match[str]) -> str:
    """Letters that stand twice, each beside its neighbor: a space between the two of each."""
    letters = run[0]
    pairs = [letters[at : at + 2] for at in range(1, len(letters) - 1, 2)]
    return f" {' '.join([letters[0], *pairs, letters[-1]])} "


@dataclass(frozen=True, slots=True)
class WantedWords:
    """What a search for messages looks for, in search form: whole words, beginnings of words, and texts in scripts
    without spaces that stand in the message as they are here."""

    words: tuple[str, ...]
    beginnings: tuple[str, ...]
    parts: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether the search has no letter and no digit."""
        return not self.words and not self.beginnings


def wanted_words(text: str) -> WantedWords:
    """The words of a search for messages. The last one may be the beginning of a word.

    >>> wanted_words("Clinic mon")
    WantedWords(words=('clinic',), beginnings=('mon',), parts=())
    """
    words, beginnings, parts = list[str](), list[str](), list[str]()
    pieces = [piece for each in text.split() for piece in _BETWEEN_WORDS.sub(" ", search_form(each)).split(" ")]
    found = [part for piece in pieces for part in _UNDIVIDED_OR_NOT.findall(piece)]
    for place, part in enumerate(found, 1):
        if not _UNDIVIDED.match(part):
            is_last = place == len(found) and len(part) >= PREFIX_LENGTH
            (beginnings if is_last else words).append(part[:WORD_LENGTH])
            continue
        letters = part[::2]
        words += [letters[at : at + 2] for at in range(len(letters) - 1)]
        if len(letters) == 1:
            beginnings.append(letters)
        elif len(letters) > 2:
            parts.append(letters)
    return WantedWords(*(tuple(dict.fromkeys(each)) for each in (words, beginnings, parts)))
