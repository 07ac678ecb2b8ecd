"""What the functions of a channel type take and return: messages, requests and responses, callbacks and the events in
them. Nothing here is sent or received.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from urllib.parse import parse_qsl, urlencode

import orjson

Settings = Mapping[str, Any]
"""The stored settings of a channel, by the names that its type declares."""
Headers = Mapping[str, str]
"""Of responses and callbacks: names in small letters."""

FORM_TYPE = "application/x-www-form-urlencoded"
JSON_TYPE = "application/json"
MULTIPART_TYPE = "multipart/form-data"
MOST_FIELDS = 100
CHARSET = re.compile(
    r"us-ascii|latin-?1|iso-?8859-?\d{1,2}|(?:windows-?|cp)125\d|koi8-?[ru]|tis-620|utf-?16(?:-?[bl]e)?"
    r"|gb2312|gbk|gb18030|big5|euc-?(?:jp|kr)|shift_?jis|iso-2022-(?:jp|kr)"
)
"""Of texts. Python knows codecs beside them that read other things, such as escapes of programs."""
BOUNDARY = re.compile(r';\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))', re.IGNORECASE)
FIELD_NAME = re.compile(r';\s*name="([^"\r\n]*)"', re.IGNORECASE)
FILE_NAME = re.compile(r";\s*filename\*?=", re.IGNORECASE)


class BadSignature(Exception):
    """A callback does not prove that it comes from the provider: 403, and nothing is stored."""


class Unread(Exception):
    """A callback that cannot be read; its text says what was there and what was expected: 400."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file of an outgoing message: its media type, such as `image/jpeg` or only `image`, and its public URL."""

    content_type: str
    url: str

    @property
    def kind(self) -> str:
        """`image`, `audio`, `video`, `application`, `geo` (whose url is `latitude,longitude`) or another."""
        return self.content_type.partition("/")[0]


@dataclass(frozen=True, slots=True)
class QuickReply:
    """A suggested answer; `extra` explains it where a provider shows lists. `kind` is `text` or `location`."""

    text: str
    extra: str = ""
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class Template:
    """A text that the provider has approved, by its name and language, with the values of its variables in order. `id`
    is the provider's, if it lists its templates."""

    name: str
    language: str
    variables: tuple[str, ...] = ()
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """An outgoing message: `to` is the path of the contact's URN, `address` that of the channel. `answers` is the
    provider's id of the message that it answers, `subject` what that was about. `callback_url` is the channel's public
    URL, with a slash at its end, for providers that are told with each message where its statuses go; empty if the
    operator has set none. `now` is the moment of sending, for what is signed with it."""

    uuid: str
    to: str
    text: str = ""
    id: int = 0
    channel_id: int = 0
    scheme: str = "tel"
    address: str = ""
    country: str = ""
    attachments: tuple[Attachment, ...] = ()
    quick_replies: tuple[QuickReply, ...] = ()
    template: Template | None = None
    answers: str = ""
    subject: str = ""
    callback_url: str = ""
    now: datetime | None = None

    def part_id(self, number: int) -> str:
        """What identifies a part (from 1), the same each time it is sent."""
        return f"{self.uuid}-{number}"


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request to a provider; a message has one for each of its parts."""

    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None

    @classmethod
    def json(cls, method: str, url: str, value: Any, headers: Headers | None = None) -> "Request":
        """With a JSON body."""
        return cls(method, url, {"Content-Type": JSON_TYPE, **(headers or {})}, orjson.dumps(value))

    @classmethod
    def form(cls, method: str, url: str, values: Mapping[str, Any], headers: Headers | None = None) -> "Request":
        """With a form as body; a list is a field that is there several times."""
        body = urlencode(values, doseq=True).encode()
        return cls(method, url, {"Content-Type": FORM_TYPE, **(headers or {})}, body)


@dataclass(frozen=True, slots=True)
class Response:
    """A provider's response; its body may be cut off."""

    status: int
    headers: Headers = field(default_factory=dict)
    body: bytes = b""

    @property
    def is_ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_page(self) -> bool:
        """Whether it is a page for people, as from a proxy or a wrong URL: no provider accepts a message with one."""
        return self.body.lstrip().startswith(b"<")

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")

    @property
    def retry_after(self) -> float | None:
        """The seconds that its header `Retry-After` names; None if it names none, or a date."""
        after = self.headers.get("retry-after", "").strip()
        return float(after) if after.isascii() and after.isdecimal() and len(after) < 10 else None

    def json(self) -> Any:
        """The body, or None if it is no JSON."""
        return _read_json(self.body)


@dataclass(frozen=True, slots=True)
class Sent:
    """The provider has the part; `id` is its name for it, by which its statuses name it."""

    id: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """The provider will never take this message. `has_stopped`: because the person does not want to be written to."""

    reason: str
    has_stopped: bool = False


@dataclass(frozen=True, slots=True)
class Later:
    """The provider may take it when it is sent again, after `seconds` if it says so. `is_for_all`: it takes nothing
    from this channel before that."""

    reason: str
    seconds: float | None = None
    is_for_all: bool = False


Outcome = Sent | Refused | Later


@dataclass(frozen=True, slots=True)
class Media:
    """A file of an incoming message: its media type, if the provider says it, and its public `url`, the `reference` by
    which `fetch` gets it, or its `content` if the message contained it."""

    content_type: str = ""
    url: str = ""
    reference: str = ""
    content: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Received:
    """An incoming message; `sender` as the provider writes it. `id` is the provider's: a repeat has the same. `sent_on`
    is None if nothing useful was said. `name` is what the provider calls the person. `subject` is what an answer is
    about, None where messages have none."""

    sender: str
    text: str = ""
    id: str = ""
    sent_on: datetime | None = None
    name: str = ""
    attachments: tuple[Media, ...] = ()
    payload: str = ""
    subject: str | None = None


State = Literal["sent", "delivered", "read", "failed"]


@dataclass(frozen=True, slots=True)
class Status:
    """What became of a part: by the provider's `id`, or by `message`, the number that the request contained."""

    state: State
    id: str = ""
    message: str = ""
    on: datetime | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The person does not want to be written to any more."""

    sender: str
    on: datetime | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """Something that the person did beside writing: a call (`mo_call`, `mo_miss`), or the first word of a conversation
    (`new_conversation`, `welcome_message`, `referral`) with the referrer in `extra`."""

    sender: str
    kind: Literal["mo_call", "mo_miss", "new_conversation", "welcome_message", "referral"]
    on: datetime | None = None
    seconds: int = 0
    name: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)


Event = Received | Status | Stopped | Call


@dataclass(frozen=True, slots=True)
class Answer:
    """What the provider wants to read as response to its callback."""

    body: str = ""
    content_type: str = "text/plain; charset=utf-8"
    status: int = 200


@dataclass(frozen=True, slots=True)
class Heard:
    """What a callback says; `answer` is None where any success will do."""

    events: tuple[Event, ...] = ()
    answer: Answer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    """A provider's call. `url` is the public URL as it was called, with its query; `action` the last word of its path,
    if any; `secret` that of the channel, which the path or a header has proved already; `now` the moment of arrival."""

    now: datetime
    method: str = "POST"
    url: str = ""
    action: str = ""
    headers: Headers = field(default_factory=dict)
    body: bytes = b""
    secret: str = ""

    @property
    def content_type(self) -> str:
        """The media type of the body, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def query(self) -> dict[str, str]:
        """The parameters of the URL."""
        return dict(_fields(self.url.partition("?")[2], self.charset))

    @property
    def charset(self) -> str:
        """What the header says of the body's characters; empty if nothing."""
        _, mark, rest = self.headers.get("content-type", "").lower().partition("charset=")
        return rest.split(";")[0].strip(' "') if mark else ""

    @property
    def text(self) -> str:
        return read_bytes(self.body, self.charset)

    def form(self) -> dict[str, str]:
        """The fields of a form of either kind, without files. Raises Unread."""
        if self.content_type == MULTIPART_TYPE:
            return dict(_parts(self.body, self.headers["content-type"], self.charset))
        return dict(_fields(self.body.decode("latin-1"), self.charset))

    def json(self) -> Any:
        """The body as JSON. Raises Unread."""
        value = _read_json(self.text.encode())
        if value is None:
            raise Unread(f"The body is not JSON; it begins with {self.text[:80]!r}.")
        return value

    def values(self) -> dict[str, str]:
        """The parameters of the URL, and the fields of the form instead where both have them. Raises Unread."""
        return self.query | (self.form() if self.content_type in (FORM_TYPE, MULTIPART_TYPE) else {})


def read_bytes(content: bytes, charset: str = "") -> str:
    """Text as what it is: UTF-8, else what was declared, else Windows-1252, which old gateways mean by Latin-1."""
    declared = (charset,) if CHARSET.fullmatch(charset) else ()
    for each in ("utf-8", *declared, "cp1252"):
        with suppress(UnicodeDecodeError, LookupError):
            return content.decode(each)
    return content.decode("latin-1")


def _fields(text: str, charset: str) -> list[tuple[str, str]]:
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS, encoding="latin-1")
    except ValueError as error:
        raise Unread(f"There are more than {MOST_FIELDS} fields.") from error
    return [(_read(name, charset), _read(value, charset)) for name, value in pairs]


def _parts(body: bytes, content_type: str, charset: str) -> list[tuple[str, str]]:
    """The fields of a multipart form (RFC 7578)."""
    boundary = BOUNDARY.search(content_type)
    if boundary is None:
        raise Unread("The form does not say what separates its parts.")
    separator = b"\r\n--" + (boundary[1] or boundary[2]).encode("latin-1", "replace")
    _, *parts = (b"\r\n" + body).split(separator, MOST_FIELDS + 2)
    if not parts or not parts.pop().startswith(b"--"):
        raise Unread(f"The form does not end, or has more than {MOST_FIELDS} fields.")
    fields = []
    for part in parts:
        head, _, content = part.partition(b"\r\n\r\n")
        about = read_bytes(head, charset)
        name = FIELD_NAME.search(about)
        if name is None:
            raise Unread("A part of the form has no name.")
        if FILE_NAME.search(about) is None:
            fields.append((name[1], read_bytes(content, charset)))
    return fields


def _read(text: str, charset: str) -> str:
    """Text that was read as bytes. A character that is beyond Latin-1 already was text before."""
    try:
        return read_bytes(text.encode("latin-1"), charset)
    except UnicodeEncodeError:
        return text


def _read_json(content: bytes) -> Any:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
