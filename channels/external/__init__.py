"""HTTP gateways of any provider: a template describes the requests to them, and they report by forms or queries
(relayer protocol, section 22).
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote_plus
from xml.sax.saxutils import escape

from channels.calls import (
    FORM_TYPE,
    Callback,
    Event,
    Heard,
    Later,
    Message,
    Outcome,
    Received,
    Request,
    Response,
    Sent,
    Settings,
    State,
    Status,
    Stopped,
    Unread,
)
from channels.declaration import Carries, ChannelType, Setting
from channels.moments import read_moment
from channels.parts import split_text
from flows.urn_schemes import SCHEMES

PART_LENGTH = 160
CONTENT_TYPES = {
    "urlencoded": FORM_TYPE,
    "json": "application/json",
    "xml": "text/xml; charset=utf-8",
}
DEFAULT_BODY = (
    "id={{id}}&text={{text}}&to={{to}}&to_no_plus={{to_no_plus}}&from={{from}}&from_no_plus={{from_no_plus}}"
    "&channel={{channel}}"
)
JSON_PIECE = re.compile(r'"\{\{\s*(\w+)\s*\}\}"|\{\{\s*(\w+)\s*\}\}|\\.|"')
PLAIN_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
XML_QUOTES = {'"': "&quot;", "'": "&apos;"}
PART_HEADER = "Idempotency-Key"
RECEIVE, STOPPED = ("receive", "received"), "stopped"
STATES: Mapping[str, State] = {"sent": "sent", "delivered": "delivered", "failed": "failed"}
NUMBER_LENGTH = 10
MOST_NAMED = 20


def make_requests(message: Message, settings: Settings) -> list[Request]:
    """One request for each part of the text, cut to the gateway's length, all with the message's id. The header
    `Idempotency-Key` identifies the part: it is the same each time that part is sent, so that a gateway can recognize a
    repeat.
    """
    text = "\n".join([message.text, *(each.url for each in message.attachments)]).strip("\n")
    parts = split_text(text, int(settings.get("max_length", PART_LENGTH)))
    return [_make(message, settings, part, number, len(parts)) for number, part in enumerate(parts, start=1)]


def judge(response: Response, settings: Settings) -> Outcome:
    """A 2xx response accepts the part; if a check text is set, the response must contain it."""
    wanted = str(settings.get("mt_response_check") or "")
    if not response.is_ok:
        return Later(f"The gateway responded with status {response.status}.")
    return Sent() if wanted.encode() in response.body else Later(f"The response does not contain {wanted!r}.")


def read_callback(callback: Callback, settings: Settings) -> Heard:
    """What a gateway reports by the action in its path."""
    return Heard((_read_event(callback, callback.values(), settings),))


def _read_event(callback: Callback, values: Mapping[str, str], settings: Settings) -> Event:
    senders = _names(settings.get("mo_from_field"), "from", "sender")
    if callback.action in RECEIVE:
        texts = _names(settings.get("mo_text_field"), "text", "message")
        _require(values, senders)
        _require(values, texts)
        sent_on = read_moment(_first(values, _names(settings.get("mo_date_field"), "date", "time")))
        return Received(_first(values, senders), _first(values, texts), values.get("message_id", ""), sent_on)
    if callback.action in STATES:
        number = values.get("id", "")
        if not (number.isascii() and number.isdecimal() and len(number) <= NUMBER_LENGTH):
            raise Unread("The parameter id is required; it is the id of a message.")
        return Status(STATES[callback.action], message=number, on=read_moment(_first(values, ("date", "time"))))
    if callback.action == STOPPED:
        return Stopped(_first(values, senders))
    raise Unread("There is no such action.")


def _names(configured: Any, *usual: str) -> tuple[str, ...]:
    """A configured name replaces the usual ones."""
    return (str(configured),) if configured else usual


def _first(values: Mapping[str, str], names: Sequence[str]) -> str:
    return next((values[name] for name in names if values.get(name)), "")


def _require(values: Mapping[str, str], names: Sequence[str]) -> None:
    """Raises Unread, with the names that were sent, if none of these was."""
    if not any(name in values for name in names):
        others = ", ".join(sorted(values)[:MOST_NAMED])
        sent = f"there are {others}" if others else "there are none"
        raise Unread(f"The parameter {names[0]} is required; {sent}.")


def _make(message: Message, settings: Settings, text: str, number: int, parts: int) -> Request:
    part_id = message.part_id(number)
    values = _values(message, settings, text) | {"part": str(number), "parts": str(parts), "part_id": part_id}
    method = str(settings.get("method", "POST")).upper()
    kind = str(settings.get("content_type", "urlencoded"))
    headers = {str(name): str(value) for name, value in dict(settings.get("headers") or {}).items()}
    if not any(name.lower() == PART_HEADER.lower() for name in headers):
        headers[PART_HEADER] = part_id
    if settings.get("send_authorization"):
        headers["Authorization"] = str(settings["send_authorization"])
    template = str(settings.get("send_url") or "")
    url = PLAIN_VARIABLE.sub(lambda found: quote_plus(_text(values.get(found.group(1)))), template)
    if method == "GET":
        return Request(method, url, headers)
    headers["Content-Type"] = CONTENT_TYPES.get(kind, kind)
    body = _fill(str(settings.get("body") or DEFAULT_BODY), values, headers["Content-Type"])
    return Request(method, url, headers, body.encode())


def _fill(template: str, values: dict[str, Any], content_type: str) -> str:
    """The variables, encoded for the content type."""
    if "json" in content_type:
        return _fill_json(template, values)
    if "xml" in content_type:
        return PLAIN_VARIABLE.sub(lambda found: escape(_text(values.get(found.group(1))), XML_QUOTES), template)
    return PLAIN_VARIABLE.sub(lambda found: quote_plus(_text(values.get(found.group(1)))), template)


def _fill_json(template: str, values: dict[str, Any]) -> str:
    """Values are inserted with quotes, whether the template has quotes around the variable or not; inside a longer
    string they get none."""
    is_in_text = False

    def fill(found: re.Match[str]) -> str:
        nonlocal is_in_text
        name = found.group(1) or found.group(2)
        if name is None:
            is_in_text ^= found.group() == '"'
            return found.group()
        value = values.get(name, "")
        return json.dumps(_text(value))[1:-1] if is_in_text else json.dumps(value)

    return JSON_PIECE.sub(fill, template)


def _values(message: Message, settings: Settings, text: str) -> dict[str, Any]:
    number = _national(message.to) if settings.get("use_national") else message.to
    return {
        "id": str(message.id),
        "text": text,
        "to": number,
        "to_no_plus": number.lstrip("+"),
        "from": message.address,
        "from_no_plus": message.address.lstrip("+"),
        "channel": str(message.channel_id),
        "quick_replies": [each.text for each in message.quick_replies],
    }


def _national(number: str) -> str:
    import phonenumbers  # noqa: PLC0415  # it loads all numbering plans, which few commands need

    try:
        return str(phonenumbers.parse(number).national_number)
    except phonenumbers.NumberParseException:
        return number


def _text(value: object) -> str:
    return ",".join(value) if isinstance(value, list) else str(value or "")


TYPE = ChannelType(
    "external",
    schemes=tuple(sorted(SCHEMES)),
    title="HTTP gateway",
    is_default=True,
    code="ex",
    carries=Carries(PART_LENGTH),
    requests=make_requests,
    accepted=judge,
    events=read_callback,
    settings=(
        Setting("send_url", "where messages to send are put in", "url", is_required=True),
        Setting("method", "default: POST", choices=("GET", "POST", "PUT"), default="POST"),
        Setting("content_type", "urlencoded, json, xml, or a media type", default="urlencoded", is_header=True),
        Setting("body", "template of a request; default: a form with all variables", "text"),
        Setting("max_length", "of one message; default: 160", "number", default=PART_LENGTH, bounds=(60, 6400)),
        Setting(
            "send_authorization",
            "the value of the Authorization header",
            "secret",
            "--authorization-file",
            is_header=True,
        ),
        Setting("mt_response_check", "text that an accepting reply contains", option="--response-check"),
        Setting(
            "recognizes_repeats",
            "send a part again, under its Idempotency-Key, when nobody knows whether it arrived",
            "flag",
        ),
    ),
)
