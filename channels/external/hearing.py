"""Reads what gateways report: forms, queries, JSON or XML, under the names that a gateway's settings give or the usual
ones (relayer protocol, section 22.2).
"""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from channels.calls import (
    JSON_TYPE,
    Answer,
    BadSignature,
    Callback,
    Event,
    Heard,
    Received,
    Settings,
    State,
    Status,
    Stopped,
    Unread,
)
from channels.external.elements import is_xml, read_xml
from channels.external.names import MOST_ITEMS, find, find_text, list_names, mean, read_table
from channels.reading import moment
from channels.signatures import Digest, hmac_base64, hmac_hex, is_same, read_jwt

RECEIVE, STATUS, STOPPED, IGNORE = "receive", "status", "stopped", "ignore"
STATES = ("sent", "delivered", "read", "failed")
EVENTS = (RECEIVE, STATUS, *STATES, STOPPED, IGNORE)
STATUSES = (*STATES, IGNORE)
USUAL_STATUSES = {state: state for state in STATES}
OTHER_WORDS = {"received": RECEIVE}
NUMBER_LENGTH = 10
UTF_16 = "8"
"""The data coding of SMPP for UCS-2."""
PREFIXED = re.compile(r"(?:sha\d+|hmac-sha\d+|v\d)=(?=.)", re.IGNORECASE)
"""Before a signature, as in `sha256=9f86d0...`."""
PLACE = re.compile(r"\{\{\s*(body|timestamp|url)\s*\}\}")
SHOWN_NAMES = 20
XML_TYPES = ("/xml", "+xml")


def read_callback(callback: Callback, settings: Settings) -> Heard:
    """What a gateway reports: by the field and table of events, otherwise by the action in the path. Raises
    BadSignature, Unread.
    """
    content = _content(callback)
    check_callback(callback, content, settings)
    whole = find([content], names) if (names := list_names(settings.get("mo_list_field"))) else content
    items = whole if isinstance(whole, list) else [whole if names and isinstance(whole, dict) else content]
    if len(items) > MOST_ITEMS:
        raise Unread(f"There are {len(items)} messages in one callback; at most {MOST_ITEMS} are read.")
    read = [_Report(callback, (item, content, callback.query), settings).event() for item in items]
    return Heard(tuple(each for each in read if each is not None), _answer(settings))


def check_callback(callback: Callback, content: Any, settings: Settings) -> None:
    """Whether the callback proves that it comes from the gateway, if the settings say how. Raises BadSignature."""
    way, secret = settings.get("callback_check"), str(settings.get("callback_secret") or "")
    if not way:
        return
    name = str(settings.get("signature_field") or ("X-Signature" if way == "hmac" else "Authorization"))
    given = callback.headers.get(name.lower()) or find_text([content, callback.query], [name]) or ""
    if way == "jwt":
        read_jwt(_credentials(given, "bearer"), secret, callback.now)
        return
    if way == "hmac":
        proves = is_same(PREFIXED.sub("", given.strip(), count=1), _sign(callback, content, settings, secret))
    elif way == "basic":
        proves = is_same(_decode(_credentials(given, "basic")), secret)
    else:
        proves = is_same(_credentials(given, "bearer"), secret)
    if not proves:
        raise BadSignature(f"{name} does not prove that the call comes from the gateway: it is missing or wrong.")


def _sign(callback: Callback, content: Any, settings: Settings, secret: str) -> str:
    """The signature that a callback must have; empty without a secret, which proves nothing."""
    if not secret:
        return ""
    timestamp = str(settings.get("timestamp_field") or "X-Timestamp")
    parts = {
        "body": callback.body,
        "url": callback.url.encode(),
        "timestamp": (callback.headers.get(timestamp.lower()) or find_text([content], [timestamp]) or "").encode(),
    }
    pieces = PLACE.split(str(settings.get("signature_content") or "{{body}}"))
    signed = b"".join(parts[piece] if at % 2 else piece.encode() for at, piece in enumerate(pieces))
    digest = cast(Digest, settings.get("signature_digest") or "sha256")
    return (hmac_base64 if settings.get("signature_encoding") == "base64" else hmac_hex)(secret, signed, digest)


def _credentials(given: str, scheme: str) -> str:
    found, mark, rest = given.strip().partition(" ")
    return rest.strip() if mark and found.lower() == scheme else given.strip()


def _decode(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


def _content(callback: Callback) -> Any:
    """The JSON or XML of a callback, or the fields of its form and query."""
    if callback.content_type == JSON_TYPE or callback.content_type.endswith("+json"):
        return callback.json()
    if callback.body[:1] in (b"{", b"[") and not callback.content_type.endswith("form-urlencoded"):
        return callback.json()
    is_form = callback.content_type.endswith("/x-www-form-urlencoded")
    if callback.content_type.endswith(XML_TYPES) or (is_xml(callback.body) and not is_form):
        return read_xml(callback.body, callback.charset)
    return callback.values()


def _answer(settings: Settings) -> Answer | None:
    """The fixed response that a gateway wants to read."""
    body = settings.get("mo_response")
    if not body:
        return None
    kind = str(settings.get("mo_response_content_type") or Answer().content_type)
    return Answer(str(body), kind)


@dataclass(frozen=True, slots=True)
class _Report:
    """One message or status in a callback: fields are looked for in `places`, one after the other."""

    callback: Callback
    places: Sequence[Any]
    settings: Settings

    def event(self) -> Event | None:
        kind = self._kind()
        if kind == IGNORE:
            return None
        if kind == RECEIVE:
            return self._received()
        if kind == STOPPED:
            return Stopped(self._sender(), self._moment("mo_date_field"))
        if kind == STATUS:
            found = self._state()
            return None if found is None else self._status(found)
        if kind in STATES:
            return self._status(cast(State, kind))
        raise Unread("There is no such action.")

    def _kind(self) -> str:
        names = list_names(self.settings.get("event_field"))
        word = find_text(self.places, names) if names else None
        action = self.callback.action.lower()
        if word is None and names and not action:
            raise Unread(f"The parameter {names[0]} is required; {self._told()}.")
        if word is None:
            return OTHER_WORDS.get(action, action)
        meaning = mean(read_table(self.settings.get("event_words")), word)
        if meaning is None:
            raise Unread(f"The table of events has no {word[:80]!r}, which is in {names[0]}.")
        return meaning

    def _state(self) -> State | None:
        names = list_names(self.settings.get("status_field"), "status")
        word = find_text(self.places, names)
        if word is None:
            raise Unread(f"The parameter {names[0]} is required; {self._told()}.")
        meaning = mean(read_table(self.settings.get("status_words")) or USUAL_STATUSES, word)
        if meaning is None:
            raise Unread(f"The table of statuses has no {word[:80]!r}, which is in {names[0]}.")
        return None if meaning == IGNORE else cast(State, meaning)

    def _received(self) -> Received:
        texts = list_names(self.settings.get("mo_text_field"), "text", "message")
        sender, text = self._sender(), self._wide_text() or find_text(self.places, texts)
        if text is None:
            raise Unread(f"The parameter {texts[0]} is required; {self._told()}.")
        return Received(
            sender,
            text,
            id=self._value("mo_id_field", "message_id") or "",
            sent_on=self._moment("mo_date_field"),
            name=self._value("mo_name_field") or "",
        )

    def _wide_text(self) -> str | None:
        """The text in hexadecimal digits, if its data coding says that it is UTF-16."""
        digits = self._value("mo_hex_field")
        if digits is None or self._value("mo_coding_field") != UTF_16:
            return None
        try:
            return bytes.fromhex(digits).decode("utf-16-be")
        except ValueError:
            return None

    def _sender(self) -> str:
        names = list_names(self.settings.get("mo_from_field"), "from", "sender")
        sender = find_text(self.places, names)
        if sender is None:
            raise Unread(f"The parameter {names[0]} is required; {self._told()}.")
        return sender

    def _status(self, state: State) -> Status:
        """By the gateway's id, or by our own number, which is in the field `id` if no setting says otherwise."""
        usual = () if self.settings.get("status_id_field") else ("id",)
        number = find_text(self.places, list_names(self.settings.get("status_message_field"), *usual)) or ""
        if number and not (number.isascii() and number.isdecimal() and len(number) <= NUMBER_LENGTH):
            raise Unread("The parameter id is required; it is the id of a message.")
        given = self._value("status_id_field") or ""
        if not number and not given:
            raise Unread(f"The parameter id is required; it is the id of a message; {self._told()}.")
        reason = (self._value("status_reason_field", "reason") or "") if state == "failed" else ""
        return Status(state, given, number, self._moment("status_date_field"), reason)

    def _value(self, setting: str, *usual: str) -> str | None:
        return find_text(self.places, list_names(self.settings.get(setting), *usual))

    def _moment(self, setting: str) -> datetime | None:
        return moment(find(self.places, list_names(self.settings.get(setting), "date", "time")))

    def _told(self) -> str:
        """What was there instead."""
        item = self.places[0]
        names = sorted(map(str, item))[:SHOWN_NAMES] if isinstance(item, Mapping) else []
        return f"there are {', '.join(name[:80] for name in names)}" if names else "there are none"
