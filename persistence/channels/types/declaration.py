"""What a channel type declares about its channels, for all sides to go by."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a gateway: the stored `config` has it under its name, `channel create` as an option.

    A `text` may hold a secret and comes from a file as well, a `url` is such a text with {{variables}}, a `secret`
    comes from a file only, a `number` lies between two bounds.
    """

    name: str
    help: str
    kind: Literal["text", "url", "secret", "word", "number", "flag"] = "word"
    option: str = ""
    default: Any = None
    is_required: bool = False
    choices: tuple[str, ...] | None = None
    bounds: tuple[int, int] = (0, 0)

    @property
    def flag(self) -> str:
        """The option of the command line, such as `--send-url`."""
        return self.option or "--" + self.name.replace("_", "-")


@dataclass(frozen=True, slots=True)
class ChannelType:
    """`is_relayer`: its channels register themselves and fetch their messages by the relayer protocol. Workers call all
    others, which are gateways: for them `callback_path` is where they call us, and `settings` says how they are called.

    `schemes` are those of the URNs that a channel may serve; `roles` are what flows may use it for.
    """

    name: str
    schemes: tuple[str, ...]
    roles: tuple[str, ...] = ("send", "receive")
    is_relayer: bool = False
    is_default: bool = False
    callback_path: str = ""
    settings: tuple[Setting, ...] = ()
