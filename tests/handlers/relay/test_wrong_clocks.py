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


@pytest.mark.parametrize("offset", [-YEAR + MINUTE, timedelta(days=-100), 14 * MINUTE])
def test_a_time_that_can_be_is_shown_as_the_phone_says(api: Api, phone: Phone, clock: Clock, offset: timedelta) -> None:
    moment = (clock.moment + offset).replace(microsecond=0)
    phone.receive_sms("+250788000111", "hello", milliseconds(moment))
    phone.sync()

    (message,) = api.results("/api/v2/messages.json")
    assert datetime.fromisoformat(message["created_on"]) == moment


def test_an_sms_of_an_impossible_time_came_when_it_was_reported(
    api: Api, phone: Phone, clock: Clock, impossible: int
) -> None:
    phone.receive_sms("+250788000111", "hello", impossible)
    phone.sync()
    repeat_last(phone)

    (message,) = api.results("/api/v2/messages.json")
    assert is_present(message["created_on"], clock)


def test_two_sms_of_impossible_times_are_two(api: Api, phone: Phone) -> None:
    phone.receive_sms("+250788000111", "yes", 1234)
    phone.receive_sms("+250788000111", "yes", 5678)
    phone.sync()

    assert len(api.results("/api/v2/messages.json")) == 2


def test_a_call_of_an_impossible_time_took_place_when_it_was_reported(
    api: Api, phone: Phone, clock: Clock, impossible: int
) -> None:
    phone.log_call("mo_miss", "+250788000111", at_ms=impossible)
    phone.sync()
    repeat_last(phone)

    (event,) = api.results("/api/v2/channel_events.json")
    assert is_present(event["occurred_on"], clock)


def test_a_message_sent_at_an_impossible_time_was_sent_when_it_was_reported(
    api: Api, phone: Phone, clock: Clock, impossible: int
) -> None:
    (message_id,) = send_texts(api, phone, "Welcome")
    phone.sync()
    phone.send_result(message_id, at_ms=impossible)
    phone.sync()

    (message,) = api.results("/api/v2/messages.json", id=message_id)
    assert message["status"] == "sent"
    assert is_present(message["sent_on"], clock)


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
