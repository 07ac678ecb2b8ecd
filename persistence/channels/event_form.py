"""The channels through which something comes in, and the bodies of their events: URL-encoded pairs or JSON, fixed when
the event is created. The tables and samples of the interface specification name some parameters differently (`sms` and
`id`, `relayer` and `channel`, `relayer_phone` and `channel_phone`, `power_level` and `battery`, `pending_message_count`
and `unsent`): both are sent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from urllib.parse import urlencode

import orjson

from persistence.sql.columns import time_text

ALARM, FLOW = "alarm", "flow"
CHANNEL_EVENTS = {
    **dict.fromkeys(("mo_sms", "mt_sent", "mt_dlvd"), "messages"),
    **dict.fromkeys(("mo_miss", "mo_call", "mt_call", "mt_miss", ALARM), "channels"),
    FLOW: "flows",
}
"""The events that a channel's receiver can get, and the area whose tokens see them; events of flows have another body,
in JSON."""
CALL_TYPES = {"mo_call": "call-in", "mo_miss": "call-in-missed", "mt_call": "call-out", "mt_miss": "call-out-missed"}
"""The call types of phones, webhooks and v1, and those of v2, which are stored."""
BEGUN = "new-conversation"
"""The type of the event that a person has begun to write, before the first message."""
UNANSWERED = ("mt_sent", "mt_dlvd")
"""Responses to them send no message: a receiver that replies to every event would cause further events without end."""
CONTENT_TYPE, JSON_TYPE = "application/x-www-form-urlencoded", "application/json"

# The documented set has only this letter for incoming messages, handled or not.
_LETTERS = {"mo_sms": "Q", "mt_sent": "S", "mt_dlvd": "D"}
_CHARGING = ("CHA", "FUL", "CHARGING", "FULL", "STATUS_CHARGING", "STATUS_FULL")

MessageName = Literal["mo_sms", "mt_sent", "mt_dlvd"]
CallName = Literal["mo_miss", "mo_call", "mt_call", "mt_miss"]
Value = str | int | datetime | Sequence[str] | None
Fields = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class EventChannel:
    """What every event says about its channel; `phone` is its number in E.164 form."""

    id: int
    uuid: str
    phone: str | None


@dataclass(frozen=True, slots=True)
class EventContact:
    """The contact of a message or call."""

    uuid: str
    name: str | None
    urn: str | None

    @property
    def phone(self) -> str | None:
        """The phone number in E.164 form, or None."""
        return self.urn.removeprefix("tel:") if self.urn and self.urn.startswith("tel:") else None


@dataclass(frozen=True, slots=True)
class PhoneState:
    """The last report of a phone; the counts are the phone's."""

    power_level: int
    power_status: str | None
    power_source: str | None
    network_type: str | None
    pending_count: int
    retry_count: int
    last_seen: datetime | None


def message_fields(
    event: MessageName,
    channel: EventChannel,
    contact: EventContact,
    *,
    message_id: int,
    text: str,
    time: datetime,
    attachments: Sequence[str] = (),
) -> Fields:
    """The parameters of a message event; `time` is when the phone received, sent or delivered it."""
    return {
        **channel_fields(event, channel),
        "sms": message_id,
        "id": message_id,
        "phone": contact.phone,
        "text": text,
        "status": _LETTERS[event],
        "direction": "I" if event == "mo_sms" else "O",
        "time": time,
        **_contact_fields(contact),
        "attachments": attachments,
    }


def call_fields(
    event: CallName,
    channel: EventChannel,
    contact: EventContact,
    *,
    call_id: int,
    time: datetime,
    duration_seconds: int,
) -> Fields:
    """The parameters of a call event; the duration of a missed call is always 0."""
    return {
        **channel_fields(event, channel),
        "call": call_id,
        "id": call_id,
        "phone": contact.phone,
        "time": time,
        "duration": 0 if event in ("mo_miss", "mt_miss") else duration_seconds,
        **_contact_fields(contact),
    }


def alarm_fields(channel: EventChannel, state: PhoneState) -> Fields:
    """The parameters of an alarm: the phone's last report, and when it was last seen."""
    is_charging = (state.power_status or "").upper() in _CHARGING
    return {
        **channel_fields(ALARM, channel),
        "channel_uuid": channel.uuid,
        "power_level": state.power_level,
        "battery": state.power_level,
        "power_status": "CHARGING" if is_charging else "DISCHARGING",
        "power_source": state.power_source,
        "network_type": state.network_type,
        "pending_message_count": state.pending_count,
        "unsent": state.pending_count,
        "retry_message_count": state.retry_count,
        "last_seen": state.last_seen,
    }


def encode_json(fields: Fields) -> bytes:
    """The same names in a JSON object: numbers stay numbers, a list is an array, None is absent."""
    shown = {name: time_text(value) if isinstance(value, datetime) else value for name, value in fields.items()}
    return orjson.dumps({name: value for name, value in shown.items() if value is not None})


def encode_form(fields: Fields) -> bytes:
    """The body: a list becomes a repeated name, None an absent one, a time is in UTC with six fraction digits and a
    Z."""
    pairs = [(name, _text(value)) for name, values in fields.items() for value in _each(values)]
    return urlencode(pairs).encode()


def _each(value: Value) -> Sequence[str | int | datetime]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str | int | datetime) else value


def _text(value: str | int | datetime) -> str:
    return time_text(value) if isinstance(value, datetime) else str(value)


def channel_fields(event: str, channel: EventChannel) -> dict[str, Value]:
    """The first parameters of every event."""
    return {
        "event": event,
        "relayer": channel.id,
        "channel": channel.id,
        "relayer_phone": channel.phone,
        "channel_phone": channel.phone,
    }


def _contact_fields(contact: EventContact) -> dict[str, Value]:
    return {"contact": contact.uuid, "contact_name": contact.name, "urn": contact.urn}


@dataclass(frozen=True, slots=True)
class Source:
    """A channel of a workspace through which something came in. Numbers without a country code are in its country."""

    id: int
    uuid: str
    workspace_id: int
    address: str | None
    country: str | None

    @property
    def in_events(self) -> EventChannel:
        return EventChannel(self.id, self.uuid, self.address)
