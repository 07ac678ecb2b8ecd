"""The number of a person as people write it: international with and without `+`, national, with spaces, hyphens, dots,
slashes and brackets. The database finds texts that may have it by its last digits; what is found is then read closely.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from sqlalchemy import ColumnElement

from flows.phones import typed_forms
from persistence.sql.query_functions import JoinedText

SHORTEST_ENDING = 6

_BETWEEN = r"[ \-.()/]{0,3}"
_ANOTHER_COUNTRY = re.compile(r"(?:\+|(?<!\d)00)\d{1,3}[ \-.()/]{1,3}\Z")
_LONGEST_CODE = 8


@dataclass(frozen=True, slots=True)
class Needles:
    """What is looked for in texts: numbers in every form, other addresses as they are. None is found inside a longer
    number.
    """

    others: tuple[str, ...]
    endings: tuple[str, ...]
    pattern: re.Pattern[str]

    def may_be_in(self, text: ColumnElement[str]) -> list[ColumnElement[bool]]:
        """Conditions of which at least one holds for each text in which something is found, and for few others."""
        others = [text.contains(each, autoescape=True) for each in self.others]
        return [*others, *(JoinedText(text).contains(each) for each in self.endings)]

    def are_in(self, text: str) -> bool:
        return any(not self._is_abroad(text, found) for found in self.pattern.finditer(text))

    def _is_abroad(self, text: str, found: re.Match[str]) -> bool:
        """Whether digits are the end of a number that begins with the code of another country."""
        before = text[max(0, found.start() - _LONGEST_CODE) : found.start()]
        return found.group()[0].isdigit() and _ANOTHER_COUNTRY.search(before) is not None


@lru_cache(maxsize=8)
def make_needles(numbers: tuple[str, ...], others: tuple[str, ...]) -> Needles:
    """Numbers are in their international form, with `+`."""
    spellings = [typed_forms(number) for number in numbers]
    forms = [
        form for digits in spellings for each in digits for form in (_written_together(each), _written_apart(each))
    ]
    words = [_bounded(each) for each in others]
    endings = tuple(dict.fromkeys(ending for digits in spellings for ending in _find_endings(digits)))
    return Needles(others, endings, re.compile("|".join([*forms, *words]) or r"(?!)"))


def _find_endings(spellings: Sequence[str]) -> Sequence[str]:
    """The digits with which all spellings end, if they are many; otherwise the spellings."""
    columns = zip(*(reversed(each) for each in spellings), strict=False)
    common = "".join(digits[0] for digits in takewhile(lambda digits: len(set(digits)) == 1, columns))
    return [common[::-1]] if len(common) >= SHORTEST_ENDING else spellings


def _written_together(digits: str) -> str:
    return rf"(?<!\d)(?<!\d[\-.]){digits}(?!\d|[\-.]\d)"


def _written_apart(digits: str) -> str:
    """With spaces inside, digits after a space belong to the number too."""
    return rf"(?<!\d)(?<!\d[ \-.]){_BETWEEN.join(digits)}(?![ \-.]?\d)"


def _bounded(address: str) -> str:
    first, last = (r"(?<!\d)" if address[0] in "+0123456789" else "", r"(?!\d)" if address[-1].isdigit() else "")
    return first + re.escape(address) + last
