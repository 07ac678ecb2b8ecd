"""The channel types, one folder each, and what a type declares about its channels. No code outside the folders of a
type names it. `worker/channels/` has a folder of the same name for calls to its gateways, `handlers/channels/` one for
calls from them.
"""

from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a gateway: the stored `config` has it under its name, and `channel create` has an option for it. A
    `text` may contain a secret, so it can also be read from a file; a `url` is such a text with {{variables}}; a
    `secret` is only read from a file; a `number` is between two bounds. `is_header`: the value is sent in a header.
    """

    name: str
    help: str
    kind: Literal["text", "url", "secret", "word", "number", "flag"] = "word"
    option: str = ""
    default: Any = None
    is_required: bool = False
    choices: tuple[str, ...] | None = None
    bounds: tuple[int, int] = (0, 0)
    is_header: bool = False

    @property
    def flag(self) -> str:
        """The option of the command line, such as `--send-url`."""
        return self.option or "--" + self.name.replace("_", "-")


@dataclass(frozen=True, slots=True)
class ChannelType:
    """`is_relayer`: its channels register themselves and fetch their messages by the relayer protocol. All others are
    gateways, which workers call: for them `callback_path` is the path that they call, and `settings` describes how they
    are called. `schemes` are the URN schemes that a channel may serve; `roles` are what flows may use it for.
    """

    name: str
    schemes: tuple[str, ...]
    roles: tuple[str, ...] = ("send", "receive")
    is_relayer: bool = False
    is_default: bool = False
    callback_path: str = ""
    settings: tuple[Setting, ...] = ()


def _declared() -> dict[str, ChannelType]:
    found = [import_module(f"{__name__}.{each.name}").TYPE for each in iter_modules(__path__) if each.ispkg]
    found.sort(key=lambda each: (not each.is_relayer, not each.is_default, each.name))
    return {each.name: each for each in found}


TYPES = _declared()
RELAYERS = tuple(name for name, each in TYPES.items() if each.is_relayer)
GATEWAYS = tuple(name for name, each in TYPES.items() if not each.is_relayer)
RELAYER = RELAYERS[0]
"""The type of channels that register by the relayer protocol."""
DEFAULT_GATEWAY = GATEWAYS[0]
