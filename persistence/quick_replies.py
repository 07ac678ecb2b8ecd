"""Quick replies as requests give them: a text that the contact may send, and more about it."""

from collections.abc import Mapping, Sequence
from typing import Any

QuickReply = dict[str, str]


def read_quick_replies(given: Sequence[Mapping[str, Any]]) -> list[QuickReply]:
    """Their `text`, and `extra` where there is one; the rest is ignored, as unknown fields are everywhere."""
    return [{name: reply[name] for name in ("text", "extra") if reply.get(name)} for reply in given]
