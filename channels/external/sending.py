"""Makes requests from the templates in a gateway's settings, and judges the responses to them."""

import base64
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote_plus
from xml.sax.saxutils import escape

from channels.calls import FORM_TYPE, Later, Message, Outcome, Refused, Request, Response, Sent, Settings, Unread
from channels.declaration import read_headers
from channels.external.elements import is_xml, read_xml
from channels.external.names import find_text, list_names, mean, read_table
from channels.sms import cut, is_short, split_text, with_links

PART_LENGTH = 160
LENGTH, SEGMENTS = "length", "segments"
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
PART_HEADER, AUTHORIZATION = "Idempotency-Key", "Authorization"
MEANINGS = ("accepted", "refused", "stopped", "later")
TOO_MANY_REQUESTS = 429
REASON_LENGTH = 200
WORD_EDGES = "\"'`:,;()[]<>"


def make_requests(message: Message, settings: Settings) -> list[Request]:
    """One request for each part of the text, cut to the gateway's length or into single SMS, all with the message's id.
    The header `Idempotency-Key` identifies the part: it is the same each time that part is sent, so that a gateway can
    recognize a repeat.
    """
    text = with_links(message.text, [each.url for each in message.attachments])
    is_by_segments = settings.get("split") == SEGMENTS
    parts = cut(text) if is_by_segments else split_text(text, int(settings.get("max_length", PART_LENGTH)))
    return [_make(message, settings, part, number, len(parts)) for number, part in enumerate(parts, start=1)]


def judge(response: Response, settings: Settings) -> Outcome:
    """What a response means by the table of words for it, or for its status; without one, a success accepts the part,
    if it contains the check text."""
    if response.status == TOO_MANY_REQUESTS:
        return Later(_reason(response, settings), response.retry_after, is_for_all=True)
    places = _places(response)
    names = list_names(settings.get("mt_status_field"))
    word = (find_text(places, names) or "") if names else str(response.status)
    meaning = mean(read_table(settings.get("mt_status_words")), word)
    if meaning in ("refused", "stopped"):
        return Refused(_reason(response, settings), has_stopped=meaning == "stopped")
    if meaning != "accepted" and (names or meaning == "later" or not response.is_ok):
        return Later(_reason(response, settings))
    wanted = str(settings.get("mt_response_check") or "")
    if wanted.encode() not in response.body:
        return Later(f"The response does not contain {wanted!r}.")
    return Sent(find_text(places, list_names(settings.get("mt_id_field"))) or "")


def _places(response: Response) -> list[Any]:
    """The JSON of a response, or its XML; otherwise the list of its words, so that they have the names 0, 1 and so
    on."""
    content = response.json()
    if isinstance(content, dict | list):
        return [content]
    places: list[Any] = [[each.strip(WORD_EDGES) for each in response.text.split()]]
    if is_xml(response.body):
        with suppress(Unread):
            places.insert(0, read_xml(response.body))
    return places


def _reason(response: Response, settings: Settings) -> str:
    told = find_text(_places(response), list_names(settings.get("mt_reason_field"))) or response.text
    said = " ".join(told.split())[:REASON_LENGTH]
    return f"The gateway responded with status {response.status}" + (f": {said}" if said else ".")


def _make(message: Message, settings: Settings, text: str, number: int, parts: int) -> Request:
    part_id = message.part_id(number)
    values = _values(message, settings, text) | {
        "part": str(number),
        "parts": str(parts),
        "part_id": part_id,
        "short_part_id": message.uuid.replace("-", "") + f"-{number}",
    }
    method = str(settings.get("method", "POST")).upper()
    kind = CONTENT_TYPES.get(str(settings.get("content_type", "urlencoded")), str(settings.get("content_type")))
    template, body = str(settings.get("send_url") or ""), str(settings.get("body") or DEFAULT_BODY)
    used = template if method == "GET" else template + body
    headers = _headers(settings, part_id, names=set(PLAIN_VARIABLE.findall(used)))
    url = PLAIN_VARIABLE.sub(lambda found: _quote(values.get(found.group(1))), template)
    if method == "GET":
        return Request(method, url, headers)
    return Request(method, url, headers | {"Content-Type": kind}, _fill(body, values, kind).encode())


def _headers(settings: Settings, part_id: str, names: set[str]) -> dict[str, str]:
    """User name and password are the basic authentication unless the templates have them."""
    headers = read_headers(settings.get("headers"))
    if not any(name.lower() == PART_HEADER.lower() for name in headers):
        headers[PART_HEADER] = part_id
    if settings.get("send_authorization"):
        headers[AUTHORIZATION] = str(settings["send_authorization"])
    elif settings.get("username") and not names & {"username", "password"}:
        pair = f"{settings['username']}:{settings.get('password') or ''}"
        headers[AUTHORIZATION] = "Basic " + base64.b64encode(pair.encode()).decode()
    return headers


def _fill(template: str, values: Mapping[str, Any], content_type: str) -> str:
    """The variables, encoded for the content type."""
    if "json" in content_type:
        return _fill_json(template, values)
    if "xml" in content_type:
        return PLAIN_VARIABLE.sub(lambda found: escape(_text(values.get(found.group(1))), XML_QUOTES), template)
    return PLAIN_VARIABLE.sub(lambda found: _quote(values.get(found.group(1))), template)


def _fill_json(template: str, values: Mapping[str, Any]) -> str:
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
        written = value if isinstance(value, list) else _text(value)
        return json.dumps(_text(value))[1:-1] if is_in_text else json.dumps(written)

    return JSON_PIECE.sub(fill, template)


def _values(message: Message, settings: Settings, text: str) -> dict[str, Any]:
    number = _national(message.to) if settings.get("use_national") else message.to
    is_wide = not is_short(text)
    return {
        "id": str(message.id),
        "text": text,
        "to": number,
        "to_no_plus": number.lstrip("+"),
        "from": message.address,
        "from_no_plus": message.address.lstrip("+"),
        "channel": str(message.channel_id),
        "quick_replies": [each.text for each in message.quick_replies],
        "username": str(settings.get("username") or ""),
        "password": str(settings.get("password") or ""),
        "callback_url": message.callback_url,
        "is_unicode": "1" if is_wide else "0",
        "alphabet": "2" if is_wide else "0",
        "data_coding": "8" if is_wide else "0",
        "coded_text": text.encode("utf-16-be") if is_wide else text,
    }


def _national(number: str) -> str:
    import phonenumbers  # noqa: PLC0415  # it loads all numbering plans, which few commands need

    try:
        return str(phonenumbers.parse(number).national_number)
    except phonenumbers.NumberParseException:
        return number


def _quote(value: object) -> str:
    return quote_plus(value if isinstance(value, bytes) else _text(value))


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.hex()
    return ",".join(value) if isinstance(value, list) else str(value or "")
