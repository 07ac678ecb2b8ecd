"""Language codes and texts by language in requests."""

from collections.abc import Mapping
from typing import TypeVar

from flows.languages import is_language
from persistence.errors import InvalidInput

BAD_LANGUAGE = "Not an ISO 639-3 code."

Text = TypeVar("Text")


def read_language(given: str, field: str = "language") -> str:
    """A language code in lower case. Raises InvalidInput for an unknown one."""
    code = given.lower()
    if not is_language(code):
        raise InvalidInput.on(field, BAD_LANGUAGE)
    return code


def read_translations(given: Mapping[str, Text], field: str) -> dict[str, Text]:
    """Texts, or lists of texts, by language codes in lower case. Raises InvalidInput for the first bad code."""
    read: dict[str, Text] = {}
    for language, text in given.items():
        code = language.lower()
        if not is_language(code):
            raise InvalidInput.at(field, language, BAD_LANGUAGE)
        if code in read:
            raise InvalidInput.at(field, language, "This language appears twice.")
        read[code] = text
    return read
