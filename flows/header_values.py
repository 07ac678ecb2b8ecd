"""What a header of an HTTP request can carry."""

import re

CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def is_header_value(text: str) -> bool:
    """Whether a header can have this value: one line of Latin characters."""
    is_latin = text.isascii() or all(character <= "\xff" for character in text)
    return is_latin and not CONTROL_CHARACTER.search(text)
