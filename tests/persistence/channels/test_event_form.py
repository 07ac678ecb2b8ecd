from datetime import UTC, datetime, timedelta, timezone
from urllib.parse import parse_qs, parse_qsl

import orjson
import pytest

from persistence.channels.event_form import (
    CALL_TYPES,
    CHANNEL_EVENTS,
    FLOW,
    EventChannel,
    EventContact,
    PhoneState,
    alarm_fields,
    call_fields,
    encode_form,
    encode_json,
    message_fields,
)
from tests.contract.documents import complaints, document

CHANNEL = EventChannel(4021, "0f6b9b1a-2f5d-4b0c-9f57-0c8a9b0ddf7e", "+254733555010")
AMINA = EventContact("6d1f0a52-5f0e-4a4e-8d09-3d0c0a1f7b21", "Amina Wanjiru", "tel:+254722000111")
NAMELESS = EventContact(AMINA.uuid, None, None)
TIME = datetime(2026, 3, 2, 8, 10, 10, 123000, tzinfo=UTC)
STATE = PhoneState(12, "DIS", "BAT", "WIFI", 3, 1, TIME)


def message(event="mo_sms", contact=AMINA, text="Is it open on Monday?", **more):
    return encode_form(message_fields(event, CHANNEL, contact, message_id=90355, text=text, time=TIME, **more))


def test_a_message_event_has_all_parameters_in_order():
    assert message() == (
        b"event=mo_sms&relayer=4021&channel=4021&relayer_phone=%2B254733555010&channel_phone=%2B254733555010"
        b"&sms=90355&id=90355&phone=%2B254722000111&text=Is+it+open+on+Monday%3F&status=Q&direction=I"
        b"&time=2026-03-02T08%3A10%3A10.123000Z&contact=6d1f0a52-5f0e-4a4e-8d09-3d0c0a1f7b21"
        b"&contact_name=Amina+Wanjiru&urn=tel%3A%2B254722000111"
    )


def test_a_call_event_has_all_parameters_in_order():
    fields = call_fields("mo_miss", CHANNEL, NAMELESS, call_id=3309, time=TIME, duration_seconds=7)

    assert encode_form(fields) == (
        b"event=mo_miss&relayer=4021&channel=4021&relayer_phone=%2B254733555010&channel_phone=%2B254733555010"
        b"&call=3309&id=3309&time=2026-03-02T08%3A10%3A10.123000Z&duration=0"
        b"&contact=6d1f0a52-5f0e-4a4e-8d09-3d0c0a1f7b21"
    )


def test_each_event_has_exactly_the_parameters_of_the_contract():
    at = {"message_id": 1, "text": "Hello", "time": TIME, "attachments": ["https://example.org/1.jpg"]}
    bodies = [message_fields(event, CHANNEL, AMINA, **at) for event in ("mo_sms", "mt_sent", "mt_dlvd")]
    calls = [call_fields(event, CHANNEL, AMINA, call_id=1, time=TIME, duration_seconds=7) for event in CALL_TYPES]
    shown = {body["event"]: orjson.loads(encode_json(body)) for body in (*bodies, *calls, alarm_fields(CHANNEL, STATE))}
    schemas = document("v2/openapi.yaml")["components"]["schemas"].values()
    named = {event: each for each in schemas for event in each.get("properties", {}).get("event", {}).get("enum", ())}

    assert shown.keys() | {FLOW} == named.keys() == CHANNEL_EVENTS.keys()
    assert [event for event, body in shown.items() if body.keys() != named[event]["properties"].keys()] == []
    assert [complaints("v2/openapi.yaml", named[event], body) for event, body in shown.items()] == [{}] * len(shown)


@pytest.mark.parametrize(("event", "status"), [("mo_sms", "QI"), ("mt_sent", "SO"), ("mt_dlvd", "DO")])
def test_each_message_event_has_its_letters(event, status):
    fields = dict(parse_qsl(message(event).decode()))

    assert fields["status"] + fields["direction"] == status


@pytest.mark.parametrize(("event", "seconds"), [("mo_call", 7), ("mt_call", 7), ("mo_miss", 0), ("mt_miss", 0)])
def test_only_calls_that_were_answered_last(event, seconds):
    fields = call_fields(event, CHANNEL, AMINA, call_id=1, time=TIME, duration_seconds=7)

    assert fields["duration"] == seconds


def test_an_alarm_says_what_the_phone_reported():
    fields = dict(parse_qsl(encode_form(alarm_fields(CHANNEL, STATE)).decode()))

    assert fields["power_level"] == fields["battery"] == "12"
    assert fields["pending_message_count"] == fields["unsent"] == "3"
    assert (fields["power_status"], fields["power_source"], fields["network_type"]) == ("DISCHARGING", "BAT", "WIFI")
    assert (fields["retry_message_count"], fields["last_seen"]) == ("1", "2026-03-02T08:10:10.123000Z")


@pytest.mark.parametrize(
    ("code", "word"),
    [
        *(("CHA", "CHARGING"), ("FUL", "CHARGING"), ("STATUS_CHARGING", "CHARGING")),
        *(("NOT", "DISCHARGING"), ("UNK", "DISCHARGING"), (None, "DISCHARGING")),
    ],
)
def test_power_status_is_one_of_two_words(code, word):
    state = PhoneState(12, code, None, None, 0, 0, None)

    assert alarm_fields(CHANNEL, state)["power_status"] == word


def test_a_list_is_a_repeated_name_and_an_empty_text_is_kept():
    fields = parse_qs(message(text="", attachments=["image:a", "image:b&c"]).decode(), keep_blank_values=True)

    assert fields["attachments"] == ["image:a", "image:b&c"]
    assert fields["text"] == [""]


def test_texts_are_utf_8():
    assert b"text=caf%C3%A9+%F0%9F%98%80%0A%26%3D&" in message(text="café 😀\n&=")


def test_moments_are_written_in_utc():
    moment = datetime(2026, 3, 2, 10, tzinfo=timezone(timedelta(hours=3)))

    assert encode_form({"time": moment}) == b"time=2026-03-02T07%3A00%3A00.000000Z"
