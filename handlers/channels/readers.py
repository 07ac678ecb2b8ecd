"""Reads the calls of gateways: each channel type has a folder next to this module."""

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Protocol, cast

from persistence.channels.gateway_reports import Gateway
from persistence.channels.types import GATEWAYS
from persistence.database import Transaction


class CallbackReader(Protocol):
    """The interface of the module `callbacks` of a channel type. `ADDRESSES` are patterns of paths with the groups
    `uuid`, `secret` (if the path contains it) and `action`. `PREFIXES` are the beginnings of these paths.
    `SECRET_PLACE` matches a secret and, in its first group, the text before it.
    """

    ADDRESSES: tuple[re.Pattern[str], ...]
    PREFIXES: tuple[str, ...]
    SECRET_PLACE: re.Pattern[str]

    def carry_out(self, tx: Transaction, gateway: Gateway, action: str, values: Mapping[str, str]) -> str:
        """Performs what the gateway reports and returns the response text. Raises Refused."""


READERS = {name: cast(CallbackReader, import_module(f"handlers.channels.{name}.callbacks")) for name in GATEWAYS}


def hide_secret(path: str) -> str:
    """A path for the log, without the secret of a gateway."""
    for reader in READERS.values():
        path = reader.SECRET_PLACE.sub(r"\1***", path)
    return path
