"""How messages become requests to gateways: each channel type has a folder next to this module."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Protocol, cast

from flows.words import cut_between_letters
from persistence.channels.gateway_leases import GatewaySend

Config = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class GatewayRequest:
    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None


class Sender(Protocol):
    """The interface of the module `request` of a channel type; `config` holds the channel's settings."""

    def make_requests(self, send: GatewaySend, config: Config) -> list[GatewayRequest]:
        """One request for each part of a message, all with the message's id."""

    def is_accepted(self, config: Config, status: int, body: bytes) -> bool:
        """Whether a response means that the gateway has accepted the part."""


@cache
def sender_of(channel_type: str) -> Sender:
    return cast(Sender, import_module(f"worker.channels.{channel_type}.request"))


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
