"""What a channel type declares: its settings, what its messages carry, and the functions that speak its provider's
language.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from channels.calls import Callback, Heard, Media, Message, Outcome, Request, Response, Settings
from flows.words import is_header_value

HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
OWN_HEADERS = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"})
"""Headers of the connection, which the HTTP client writes."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a gateway: the stored `config` has it under its name, and `channel create` has an option for it. A
    `text` may contain a secret, so it can also be read from a file; a `url` is such a text with {{variables}}; a
    `secret` is only read from a file, and so are `headers`, secret lines `Name: value`; a `number` is between two
    bounds. `check` raises ValueError for a value that is not of the right form. `is_header`: the value is sent in a
    header. `is_advanced`: a form shows it folded, because its default is right for nearly everybody.
    """

    name: str
    help: str
    kind: Literal["text", "url", "secret", "headers", "word", "number", "flag"] = "word"
    option: str = ""
    default: Any = None
    is_required: bool = False
    choices: tuple[str, ...] | None = None
    bounds: tuple[int, int] = (0, 0)
    is_header: bool = False
    is_advanced: bool = False
    check: Callable[[str], object] | None = None

    @property
    def is_secret(self) -> bool:
        """Whether the value is never told."""
        return self.kind in ("secret", "headers")

    @property
    def flag(self) -> str:
        """The option of the command line, such as `--send-url`."""
        return self.option or "--" + self.name.replace("_", "-")


def read_headers(given: Any) -> dict[str, str]:
    """What a setting `headers` says; former versions stored an object. Raises ValueError."""
    if isinstance(given, Mapping):
        return {str(name): str(value) for name, value in given.items()}
    headers = {}
    for line in filter(str.strip, str(given or "").splitlines()):
        name, mark, value = (each.strip() for each in line.partition(":"))
        if not mark or not HEADER_NAME.fullmatch(name) or not is_header_value(value):
            raise ValueError("Write each header on a line of its own: its name, a colon, a value of Latin characters")
        if name.lower() in OWN_HEADERS:
            raise ValueError(f"The header {name} belongs to the connection and cannot be set")
        headers[name] = value
    return headers


@dataclass(frozen=True, slots=True)
class Carries:
    """What one message of a type may have. `length` is that of a part, in characters, or in segments of SMS if
    `is_sms`. `attachments`: files go as files, otherwise their URLs follow the text. `quick_replies`: the most that are
    shown as buttons or a list; others are not shown. `window_hours`: how long after a person's message anything but a
    template may be sent.
    """

    length: int = 160
    is_sms: bool = False
    attachments: bool = False
    quick_replies: int = 0
    templates: bool = False
    locations: bool = False
    window_hours: int | None = None


TemplateStatus = Literal["approved", "pending", "rejected", "unsupported"]


@dataclass(frozen=True, slots=True)
class FoundTemplate:
    """A template that the provider lists: `status` in its own words, `text` with `{{1}}` for each variable."""

    name: str
    language: str
    status: TemplateStatus
    text: str
    variables: int = 0
    external_id: str = ""


@dataclass(frozen=True, slots=True)
class ChannelType:
    """`title` is how people call it, `help` what it is for, in a few words that begin small. `is_relayer`: its channels
    register themselves and fetch their messages by the relayer protocol. All others are gateways. `schemes` are the URN
    schemes that a channel may serve; `roles` are what flows may use it for. `code` is the type's word in the path that
    the provider calls, `/c/CODE/UUID/SECRET/ACTION`, and `actions` are the words for which the provider is given URLs:
    none if its callbacks say what they report. `embed` is a line for the pages of a site, with places for the service's
    URL and the channel's UUID. `transport`: `http` gateways are called with `requests`; other words name the module of
    `worker/channels/` that carries their messages. `rate` is the usual limit in messages per second.

    `requests` makes one request for each part of a message, always the same ones; `accepted` judges the response to
    one, and to those of `check` and `connect`. `events` reads a callback and raises BadSignature or Unread. `check` is
    a request whose success shows that the settings work. `connect` tells the provider the callback URL and the
    channel's secret, when the channel is made or its secret changes. `fetch` gets an incoming file: given the responses
    so far, it returns the next request, or None if the last response is the file. `templates` asks for a page of
    templates after a cursor, `read_templates` reads it and returns them with the next cursor, empty at the end.
    """

    name: str
    schemes: tuple[str, ...]
    title: str = ""
    help: str = ""
    roles: tuple[str, ...] = ("send", "receive")
    is_relayer: bool = False
    is_default: bool = False
    code: str = ""
    actions: tuple[str, ...] = ()
    embed: str = ""
    settings: tuple[Setting, ...] = ()
    carries: Carries = Carries()
    transport: str = "http"
    rate: float | None = None
    requests: Callable[[Message, Settings], Sequence[Request]] | None = None
    accepted: Callable[[Response, Settings], Outcome] | None = None
    events: Callable[[Callback, Settings], Heard] | None = None
    check: Callable[[Settings], Request] | None = None
    connect: Callable[[Settings, str, str], Sequence[Request]] | None = None
    fetch: Callable[[Media, Settings, Sequence[Response]], Request | None] | None = None
    templates: Callable[[Settings, str], Request] | None = None
    read_templates: Callable[[Response], tuple[Sequence[FoundTemplate], str]] | None = None

    @property
    def callback(self) -> Literal["none", "copied", "told"]:
        """How the provider learns the callback URL: a person copies it, the service tells it, or nobody calls."""
        if self.events is None:
            return "none"
        return "copied" if self.connect is None else "told"

    @property
    def callback_path(self) -> str:
        """The path that the provider calls, with places for the channel's UUID and secret."""
        return f"/c/{self.code or self.name}/{{uuid}}/{{secret}}/"
