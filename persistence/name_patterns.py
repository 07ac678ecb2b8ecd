"""Patterns that find words of names by their beginning in PostgreSQL, by Unicode's rule for word boundaries (UAX 29).

PostgreSQL knows no such boundaries, and its character classes depend on the locale of a database. So the patterns spell
out which characters must not stand before a word: those that Unicode joins with the word's first character.
"""

from collections.abc import Sequence
from functools import cache

import regex

_HEBREW = r"\p{WB=Hebrew_Letter}"
_LETTER = rf"\p{{WB=ALetter}}{_HEBREW}"
_JOINING = rf"{_LETTER}\p{{WB=Numeric}}\p{{WB=ExtendNumLet}}"
_KATAKANA = r"\p{WB=Katakana}\p{WB=ExtendNumLet}"
_INVISIBLE = r"\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}"
_WITHIN_WORDS = r"\p{WB=MidLetter}\p{WB=MidNumLet}\p{WB=Single_Quote}"
_WITHIN_NUMBERS = r"\p{WB=MidNum}\p{WB=MidNumLet}\p{WB=Single_Quote}"
_SPECIAL = frozenset("\\]^-[")
_LAST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


def make_name_pattern(prefixes: Sequence[str]) -> str:
    """A regular expression that finds a word beginning with one of the folded prefixes in a folded name."""
    return "|".join(f"{_before(prefix[0])}{_escape(prefix)}" for prefix in prefixes)


def _before(first: str) -> str:
    """Lookbehinds for everything that would join a word's first character to what stands before it."""
    if _belongs(first, _LETTER):
        is_hebrew = _belongs(first, _HEBREW)
        return (
            _not_after(_JOINING) + _not_after(_LETTER, _WITHIN_WORDS) + (_not_after(_HEBREW, '"') if is_hebrew else "")
        )
    if _belongs(first, r"\p{WB=Numeric}"):
        return _not_after(_JOINING) + _not_after(r"\p{WB=Numeric}", _WITHIN_NUMBERS)
    if _belongs(first, r"\p{WB=Katakana}"):
        return _not_after(_KATAKANA)
    if _belongs(first, r"\p{WB=ExtendNumLet}"):
        return _not_after(_JOINING + r"\p{WB=Katakana}")
    return ""


def _not_after(*classes: str) -> str:
    return f"(?<!{''.join(f'[{_spell(one)}][{_spell(_INVISIBLE)}]*' for one in classes)})"


def _belongs(character: str, properties: str) -> bool:
    return regex.match(f"[{properties}]", character) is not None


@cache
def _spell(properties: str) -> str:
    """The characters with one of these properties, as ranges within brackets."""
    return "".join(
        _write(run[0]) if len(run) == 1 else f"{_write(run[0])}-{_write(run[-1])}"
        for run in regex.findall(f"[{properties}]+", _all_characters())
    )


def _all_characters() -> str:
    return "".join(chr(code) for code in range(1, _LAST_CODE_POINT + 1) if code not in _SURROGATES)


def _write(character: str) -> str:
    return f"\\u{ord(character):04x}" if character in _SPECIAL else character


def _escape(prefix: str) -> str:
    return "".join(f"\\{letter}" if letter.isascii() and not letter.isalnum() else letter for letter in prefix)
