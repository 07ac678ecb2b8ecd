"""Cuts texts into the parts that a gateway takes, by characters (`sms` does so by segments), and joins parts that came
in.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from channels.calls import Received
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
