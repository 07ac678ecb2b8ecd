"""Builds the requests that send a message to an HTTP gateway, from the channel's settings."""

import json
import re
from typing import Any
from urllib.parse import quote_plus
from xml.sax.saxutils import escape

import phonenumbers

from persistence.channels.gateway_leases import GatewaySend
from persistence.channels.types.external import PART_LENGTH
from worker.channels.sending import Config, GatewayRequest, split_text

CONTENT_TYPES = {
    "urlencoded": "application/x-www-form-urlencoded",
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


def is_accepted(config: Config, status: int, body: bytes) -> bool:
    """A 2xx response accepts the part; if a check text is set, the response must contain it."""
    return 200 <= status < 300 and str(config.get("mt_response_check") or "").encode() in body


def make_requests(send: GatewaySend, config: Config) -> list[GatewayRequest]:
    """One request for each part of the text, cut to the gateway's length, all with the message's id. The header
    `Idempotency-Key` identifies the part: it is the same each time that part is sent, so that a gateway can recognize a
    repeat.
    """
    text = "\n".join([send.text, *(each["url"] for each in send.attachments)]).strip("\n")
    parts = split_text(text, int(config.get("max_length", PART_LENGTH)))
    return [_make(send, config, part, number, len(parts)) for number, part in enumerate(parts, start=1)]


def _make(send: GatewaySend, config: Config, text: str, number: int, parts: int) -> GatewayRequest:
    part_id = f"{send.message_uuid}-{number}"
    values = _values(send, config, text) | {"part": str(number), "parts": str(parts), "part_id": part_id}
    method = str(config.get("method", "POST")).upper()
    kind = str(config.get("content_type", "urlencoded"))
    headers = {str(name): str(value) for name, value in dict(config.get("headers") or {}).items()}
    if not any(name.lower() == PART_HEADER.lower() for name in headers):
        headers[PART_HEADER] = part_id
    if config.get("send_authorization"):
        headers["Authorization"] = str(config["send_authorization"])
    template = str(config.get("send_url") or "")
    url = PLAIN_VARIABLE.sub(lambda found: quote_plus(_text(values.get(found.group(1)))), template)
    if method == "GET":
        return GatewayRequest(method, url, headers, None)
    headers["Content-Type"] = CONTENT_TYPES.get(kind, kind)
    body = _fill(str(config.get("body") or DEFAULT_BODY), values, headers["Content-Type"])
    return GatewayRequest(method, url, headers, body.encode())


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


def _values(send: GatewaySend, config: Config, text: str) -> dict[str, Any]:
    number = send.urn.partition(":")[2]
    if config.get("use_national"):
        number = _national(number)
    address = send.address or ""
    return {
        "id": str(send.message_id),
        "text": text,
        "to": number,
        "to_no_plus": number.lstrip("+"),
        "from": address,
        "from_no_plus": address.lstrip("+"),
        "channel": str(send.channel_id),
        "quick_replies": [each["text"] for each in send.quick_replies],
    }


def _national(number: str) -> str:
    try:
        return str(phonenumbers.parse(number).national_number)
    except phonenumbers.NumberParseException:
        return number


def _text(value: object) -> str:
    return ",".join(value) if isinstance(value, list) else str(value or "")
