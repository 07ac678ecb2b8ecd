"""Cuts texts into the parts that a gateway takes, by characters; `sms` does so by segments."""

from collections.abc import Iterable

from flows.words import cut_between_letters


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
