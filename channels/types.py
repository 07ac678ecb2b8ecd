"""All channel types: each folder here that declares a `TYPE`. No code outside of a type's folder names it."""

from importlib import import_module
from pkgutil import iter_modules

import channels
from channels.declaration import ChannelType


def _declared() -> dict[str, ChannelType]:
    found = [import_module(f"channels.{each.name}").TYPE for each in iter_modules(channels.__path__) if each.ispkg]
    found.sort(key=lambda each: (not each.is_relayer, not each.is_default, each.name))
    return {each.name: each for each in found}


TYPES = _declared()
RELAYERS = tuple(name for name, each in TYPES.items() if each.is_relayer)
GATEWAYS = tuple(name for name, each in TYPES.items() if not each.is_relayer)
RELAYER = RELAYERS[0]
"""The type of channels that register by the relayer protocol."""
DEFAULT_GATEWAY = GATEWAYS[0]
