"""What gateways call us with: a folder for each channel type beside this module."""

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Protocol, cast

from persistence.channels.gateway_reports import Gateway
from persistence.channels.types import GATEWAYS
from persistence.database import Transaction


class CallbackReader(Protocol):
    """What the folder of a channel type has in its module `callbacks`.

    `ADDRESSES` are paths with the groups `uuid`, `secret` (where it is part of them) and `action`, `PREFIXES` what they
    begin with, `SECRET_PLACE` what stands before a secret, in its first group, and the secret.
    """

    ADDRESSES: tuple[re.Pattern[str], ...]
    PREFIXES: tuple[str, ...]
    SECRET_PLACE: re.Pattern[str]

    def carry_out(self, tx: Transaction, gateway: Gateway, action: str, values: Mapping[str, str]) -> str:
        """Do what the gateway reports; what to answer. Raises Refused."""


READERS = {name: cast(CallbackReader, import_module(f"handlers.channels.{name}.callbacks")) for name in GATEWAYS}


def hide_secret(path: str) -> str:
    """A path as it may be logged: without what stands where a gateway's secret does."""
    for reader in READERS.values():
        path = reader.SECRET_PLACE.sub(r"\1***", path)
    return path
