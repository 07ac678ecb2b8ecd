"""Texts that can be stored and sent: halves of characters, which JSON lets through, cannot be written as UTF-8."""

import re

_UNPAIRED = re.compile("[\ud800-\udfff]")
REPLACEMENT = "\ufffd"


def replace_unpaired(text: str) -> str:
    """The text with the replacement character for each half of a character."""
    return text if text.isascii() else _UNPAIRED.sub(REPLACEMENT, text)
