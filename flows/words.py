"""Words of people's text: splitting text into words, comparing words, deriving keys from names, naming
values in sentences; and what a header of an HTTP request can carry.
"""

import json
import re
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

import regex

from flows.environment import Environment
from flows.typed import APOSTROPHES, INVISIBLE, WITHOUT_SPACES, fold_case, same_form

# The words of tests and the names of results are the same for every contact, so they are cached; longer texts are not.
CACHED_TEXTS = 2048
CACHED_LENGTH = 100
TOLD_LENGTH = 40

_TOKEN = regex.compile(r"[\p{L}\p{M}\p{N}_']+|\p{S}")
# What people type between letters without seeing it, and the apostrophes of other keyboards, belong to the word.
_WITHIN = "".join(each for each in INVISIBLE + APOSTROPHES if each != "\u200b")
_TYPED_TOKEN = regex.compile(rf"[\p{{L}}\p{{M}}\p{{N}}_'{_WITHIN}]+|\p{{S}}")
_LETTER_OR_NUMBER = regex.compile(r"[\p{L}\p{N}]")
_CLUSTER = regex.compile(r"\X")
_UNPAIRED = regex.compile("[\ud800-\udfff]")
_NOT_SNAKE = regex.compile(r"[^\p{L}\p{Nd}_]+")

# Unicode's own table distinguishes kra, and with it every kappa, from the k that people mean.
_KRA_AS_K = {0x0138: "k"}
# Unicode's rule (UAX 29), written out because the library joins apostrophes with following vowels.
_INVISIBLE = r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*+"
_ANY_LETTER = r"[\p{WB=ALetter}\p{WB=Hebrew_Letter}]"
_INNER = rf"[\p{{WB=MidLetter}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}]{_INVISIBLE}(?={_ANY_LETTER})"
_HEBREW_INNER = rf"\"{_INVISIBLE}(?=\p{{WB=Hebrew_Letter}})|'{_INVISIBLE}"
_HEBREW = rf"\p{{WB=Hebrew_Letter}}{_INVISIBLE}(?:{_INNER}|{_HEBREW_INNER})?+"
_LETTER = rf"\p{{WB=ALetter}}{_INVISIBLE}(?:{_INNER})?+"
_NUMBER_INNER = rf"[\p{{WB=MidNum}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}]{_INVISIBLE}(?=\p{{WB=Numeric}})"
_NUMBER = rf"\p{{WB=Numeric}}{_INVISIBLE}(?:{_NUMBER_INNER})?+"
_CORE = rf"(?:(?:{_HEBREW}|{_LETTER}|{_NUMBER})++|(?:\p{{WB=Katakana}}{_INVISIBLE})++)"
_LINKS = rf"(?:\p{{WB=ExtendNumLet}}{_INVISIBLE})"
_UNDIVIDED = rf"(?:[{WITHOUT_SPACES}]{_INVISIBLE})++"
_DICTIONARY_WORD = regex.compile(
    rf"{_LINKS}*+{_CORE}(?:{_LINKS}++{_CORE})*+{_LINKS}*+|{_LINKS}++|[\p{{L}}\p{{N}}]{_INVISIBLE}"
)

_SEARCH_WORD = regex.compile(rf"{_UNDIVIDED}|{_DICTIONARY_WORD.pattern}")
_BEGINS_UNDIVIDED = regex.compile(f"[{WITHOUT_SPACES}]")

_FARSI_YEH = "\u06cc"
_KEHEH = "\u06a9"
# People of one region write the same word with the Arabic, Farsi or Pashto form of a letter.
_ARABIC_VARIANTS = (
    {0x0660 + digit: 0x06F0 + digit for digit in range(10)}
    | dict.fromkeys((0x0649, 0x064A, 0x06D0, 0x06CD, 0x0626), _FARSI_YEH)
    | dict.fromkeys((0x0643, 0x06AB), _KEHEH)
    | {
        0x0622: "\u0627",  # alef with madda
        0x067C: "\u062a",  # teh with ring
        0x0689: "\u062f",  # dal with ring
        0x0693: "\u0631",  # reh with ring
        0x06BC: "\u0646",  # noon with ring
        0x069A: "\u0634",  # seen with dots below and above
        0x0698: "\u0696",  # jeh
    }
)


def told(value: object) -> str:
    """A value as a sentence names it: a text in quotes, the kind of anything larger.

    >>> told("send_msgs"), told(None), told(3), told([1, 2]), told({})
    ('"send_msgs"', 'nothing', '3', 'a list', 'an object')
    """
    if value is None:
        return "nothing"
    if isinstance(value, list | tuple):
        return "a list"
    if not isinstance(value, str | bool | int | float):
        return "an object"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= TOLD_LENGTH else f'{text[:TOLD_LENGTH]}..."'


def tokens(text: str) -> list[str]:
    """The words of a text: runs of letters, marks, numbers, `_` and `'`, and single symbols such as emoji."""
    return [match.group() for match in _TOKEN.finditer(text)]


def token_spans(text: str) -> list[tuple[int, int]]:
    """The beginnings and ends of the words of a text, as offsets in characters."""
    return [match.span() for match in _TOKEN.finditer(text)]


def tokens_between(text: str, delimiters: str) -> list[str]:
    """The pieces of a text between any of the given characters; empty pieces are dropped."""
    pieces, begin = [], 0
    for position, character in enumerate(text):
        if character in delimiters:
            pieces.append(text[begin:position])
            begin = position + 1
    return [piece for piece in (*pieces, text[begin:]) if piece]


def dictionary_words(text: str) -> list[str]:
    """The words of a text by Unicode's rule for word boundaries (UAX 29), without punctuation and symbols."""
    return [word for word in _DICTIONARY_WORD.findall(text) if _LETTER_OR_NUMBER.search(word)]


def search_words(text: str) -> list[str]:
    """The words by which names are searched: those of the dictionary, and what stands together in a script whose words
    stand without spaces."""
    return [word for word in _SEARCH_WORD.findall(text) if _LETTER_OR_NUMBER.search(word)]


def is_without_spaces(word: str) -> bool:
    """Whether a word is of a script whose words stand without spaces."""
    return _BEGINS_UNDIVIDED.match(word) is not None


def collated_tokens(environment: Environment, text: str) -> Sequence[tuple[str, str]]:
    """The words of a text, each with its form for comparison, see `collate`."""
    make = _collate_tokens if len(text) > CACHED_LENGTH else _collate_tokens_cached
    return make(environment.input_collation, text)


def collated_words(environment: Environment, text: str) -> frozenset[str]:
    """The different forms of `collated_tokens`."""
    make = _collate_words if len(text) > CACHED_LENGTH else _collate_words_cached
    return make(environment.input_collation, text)


def _collate_words(collation: str, text: str) -> frozenset[str]:
    return frozenset(form for _, form in _collate_tokens(collation, text))


def _collate_tokens(collation: str, text: str) -> Sequence[tuple[str, str]]:
    if text.isascii():
        return tuple((token, _collate(collation, token)) for token in tokens(text))
    words = (token.strip(INVISIBLE + APOSTROPHES) for token in _TYPED_TOKEN.findall(text))
    found = ((word, _collate(collation, word)) for word in words)
    return tuple((token, form) for token, form in found if form)


_collate_words_cached = lru_cache(maxsize=CACHED_TEXTS)(_collate_words)
_collate_tokens_cached = lru_cache(maxsize=CACHED_TEXTS)(_collate_tokens)


def collate(environment: Environment, token: str) -> str:
    """The form of a word for comparison: equal words have the same form (flow format, collation)."""
    return _collate(environment.input_collation, token)


def _collate(collation: str, token: str) -> str:
    if collation == "confusables":
        return lower(_skeleton(token))
    if collation == "arabic_variants":
        return lower(unicodedata.normalize("NFKC", token).translate(_ARABIC_VARIANTS))
    return same_form(token)


def lower(text: str) -> str:
    """Lower case for comparing what people write; the dotted capital I of Turkish becomes a plain i."""
    return text.replace("İ", "i").lower()


def snakify(name: str) -> str:
    """The key for a name: lower case, with `_` for everything except letters and digits. Letters and digits of any
    script are kept, because names in expressions may have them.
    """
    return _snakify(name) if len(name) > CACHED_LENGTH else _snakify_cached(name)


def _snakify(name: str) -> str:
    return str(_NOT_SNAKE.sub("_", fold_case(name.strip())))


_snakify_cached = lru_cache(maxsize=CACHED_TEXTS)(_snakify)


def _skeleton(text: str) -> str:
    """Unicode's confusable skeleton (UTS 39): texts that look alike have the same one."""
    prototypes = _load_prototypes()
    decomposed = unicodedata.normalize("NFD", text)
    look = "".join(prototypes.get(character, character) for character in decomposed).translate(_KRA_AS_K)
    return unicodedata.normalize("NFD", look)


@cache
def _load_prototypes() -> dict[str, str]:
    table = json.loads(Path(__file__).with_name("confusables.json").read_text(encoding="utf-8"))
    return {letter: look for look, letters in table.items() for letter in letters}


def list_letters(text: str) -> list[str]:
    """The letters and emoji of a text as people see them (grapheme clusters), which may be several characters each."""
    return list(text) if text.isascii() else _CLUSTER.findall(text)


def cut_between_letters(text: str, length: int) -> str:
    """The beginning of a text, at most so many characters, without a part of a letter or emoji at its end. One that is
    longer than that itself is cut."""
    if len(text) <= length or text.isascii():
        return text[:length]
    start = end = text.rfind(" ", 0, length) + 1
    for match in _CLUSTER.finditer(text, start):
        if match.end() > length:
            break
        end = match.end()
    return text[: end or length]


def storable(text: str) -> str:
    """The text without NUL and unpaired surrogates, which no database and no channel takes."""
    return replace_unpaired(text.replace("\0", "") if "\0" in text else text)


def replace_unpaired(text: str) -> str:
    """The text with a replacement character for each unpaired surrogate, which cannot be written as UTF-8."""
    return text if text.isascii() else _UNPAIRED.sub("\ufffd", text)


CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def is_header_value(text: str) -> bool:
    """Whether a header can have this value: one line of Latin characters."""
    is_latin = text.isascii() or all(character <= "\xff" for character in text)
    return is_latin and not CONTROL_CHARACTER.search(text)
