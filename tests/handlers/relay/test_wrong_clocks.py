"""Phones whose clock was wrong when something happened, though it is right when they sync."""

from datetime import datetime, timedelta

import pytest

from persistence.service.backlog import list_refused_phones
from relayboard.phone.phone import Phone, sign_body, write_body
from tests.api import Api
from tests.conftest import Clock
from tests.phones import claimed_phone, repeat_last, send_texts

YEAR = timedelta(days=365)
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize("reason", ["wrong_clock", "wrong_secret"])
def test_a_refused_phone_is_seen_until_it_is_let_in_again(api: Api, clock: Clock, reason: str) -> None:
    phone = claimed_phone(api)
    (uuid,) = [each["uuid"] for each in api.results("/api/v2/channels.json")]
    clock.advance(minutes=1)
    moment = clock.moment - 16 * MINUTE if reason == "wrong_clock" else clock.moment
    secret = phone.state.secret or ""
    ts, body = str(int(moment.timestamp())), write_body(phone._identity())
    signature = sign_body(secret if reason == "wrong_clock" else "another", ts, body)
    path = f"/relayers/relayer/sync/{phone.state.relayer_id}/"
    assert phone.transport.post(path, {"ts": ts, "signature": signature}, body).status == 401

    health = api.get("/api/v2/channel_health.json", uuid=uuid).json()
    (shown,) = api.results("/api/v2/channels.json")
    with api.database.reading() as tx:
        assert list_refused_phones(tx) == [(uuid, reason)]
    for record in (health, shown):
        assert (record["refused_reason"], is_present(record["refused_on"], clock)) == (reason, True)

    clock.advance(minutes=1)
    phone.sync()
    (shown,) = api.results("/api/v2/channels.json")
    assert (shown["refused_reason"], shown["refused_on"]) == (None, None)


def milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def is_present(text: str, clock: Clock) -> bool:
    return abs(datetime.fromisoformat(text) - clock.moment) < MINUTE


@pytest.fixture
def phone(api: Api) -> Phone:
    return claimed_phone(api)


@pytest.fixture(params=["1970", "more-than-a-year-ago", "still-to-come"])
def impossible(request: pytest.FixtureRequest, clock: Clock) -> int:
    """Milliseconds that a phone reports."""
    moments = {"more-than-a-year-ago": clock.moment - YEAR - MINUTE, "still-to-come": clock.moment + 16 * MINUTE}
    return milliseconds(moments[request.param]) if request.param in moments else 1234


def test_a_time_that_can_be_is_shown_as_the_phone_says(api: Api, phone: Phone, clock: Clock) -> None:
    offsets = (-YEAR + MINUTE, timedelta(days=-100), 14 * MINUTE)
    moments = [(clock.moment + offset).replace(microsecond=0) for offset in offsets]
    for moment in moments:
        phone.receive_sms("+250788000111", "hello", milliseconds(moment))
    phone.sync()

    shown = api.results("/api/v2/messages.json")
    assert sorted(datetime.fromisoformat(message["created_on"]) for message in shown) == moments


def test_two_sms_of_impossible_times_are_two(api: Api, phone: Phone) -> None:
    phone.receive_sms("+250788000111", "yes", 1234)
    phone.receive_sms("+250788000111", "yes", 5678)
    phone.sync()

    assert len(api.results("/api/v2/messages.json")) == 2


def test_what_is_reported_of_an_impossible_time_happened_when_it_was_reported(
    api: Api, phone: Phone, clock: Clock, impossible: int
) -> None:
    (message_id,) = send_texts(api, phone, "Welcome")
    phone.sync()
    phone.receive_sms("+250788000222", "Is it open?", impossible)
    phone.log_call("mo_miss", "+250788000222", at_ms=impossible)
    phone.send_result(message_id, at_ms=impossible)
    phone.sync()
    repeat_last(phone)

    (sent,) = api.results("/api/v2/messages.json", id=message_id)
    (came,) = [each for each in api.results("/api/v2/messages.json") if each["text"] == "Is it open?"]
    (event,) = api.results("/api/v2/channel_events.json")
    assert sent["status"] == "sent"
    for moment in (sent["sent_on"], came["created_on"], event["occurred_on"]):
        assert is_present(moment, clock)


def test_a_repeat_of_an_impossible_time_does_not_undo_a_failure(api: Api, phone: Phone, impossible: int) -> None:
    (message_id,) = send_texts(api, phone, "Welcome")
    phone.sync()
    phone.send_result(message_id, at_ms=impossible)
    phone._report("mt_fail", message_id, impossible + 1000)
    phone.sync()
    (before,) = api.results("/api/v2/messages.json", id=message_id)

    repeat_last(phone)

    assert before["status"] == "failed"
    assert api.results("/api/v2/messages.json", id=message_id) == [before]
