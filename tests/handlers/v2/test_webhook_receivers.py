"""`/api/v2/webhook_receivers.json` and what belongs to it over HTTP."""

from typing import Any

import pytest

from persistence.deliveries.outbox import record_channel_event
from persistence.resthooks import create_subscriber, ensure_resthook
from tests.api import Api
from tests.channel_rows import add_channel

PATH, TEST = "/api/v2/webhook_receivers.json", "/api/v2/webhook_tests.json"
SECRET, DELIVERIES = "/api/v2/webhook_secrets.json", "/api/v2/deliveries.json"
PHONE = "3f0c1a52-8b7e-4d19-9a60-5c2f7be0d411"
URL = "https://hooks.example.org/in"


@pytest.fixture
def phone(api: Api) -> int:
    return add_channel(api.database, api.workspace, uuid=PHONE, name="Front desk")


@pytest.fixture
def subscriber(api: Api) -> str:
    with api.database.writing() as tx:
        ensure_resthook(tx, api.workspace.id, "new-birth")
        return str(create_subscriber(tx, api.workspace.id, "new-birth", "https://b.example.org/r"))


def change(api: Api, key: str, **changes: Any) -> dict[str, Any]:
    answer = api.post(PATH, changes, receiver=key)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def make_event(api: Api, phone: int) -> str | None:
    with api.database.writing() as tx:
        return record_channel_event(tx, api.workspace.id, phone, "mo_sms", {"text": "Hello"})


def test_channels_and_subscribers_are_in_one_list(api: Api, phone: int, subscriber: str) -> None:
    assert [each["receiver"] for each in api.results(PATH)] == [subscriber]

    shown = change(api, PHONE, url=URL, events=["mo_sms"])

    assert (shown["kind"], shown["channel"]["name"], shown["events"]) == ("channel", "Front desk", ["mo_sms"])
    assert {each["receiver"] for each in api.results(PATH)} == {PHONE, subscriber}
    assert api.results(PATH, receiver=PHONE) == [shown]
    (other,) = api.results(PATH, receiver=subscriber)
    assert (other["kind"], other["resthook"], other["health"]) == ("subscriber", "new-birth", "healthy")


def test_a_page_ends_where_the_next_begins(api: Api, phone: int, subscriber: str) -> None:
    change(api, PHONE, url=URL)
    first = api.get(PATH).json()

    assert (len(first["results"]), first["next"], first["previous"]) == (2, None, None)


def test_a_url_is_set_changed_and_removed(api: Api, phone: int) -> None:
    assert api.post(PATH, {"is_on": True}, receiver=PHONE).status_code == 400
    change(api, PHONE, url=URL)
    event = make_event(api, phone)

    assert change(api, PHONE, url=URL + "/2")["events"] is None
    assert api.results(DELIVERIES, uuid=event)[0]["url"] == URL + "/2"
    assert api.post(PATH, {"url": None}, receiver=PHONE).status_code == 204
    assert api.results(DELIVERIES, uuid=event)[0]["status"] == "failed"
    assert api.results(PATH) == []


def test_what_a_receiver_asks_for_is_kept_within_limits(api: Api, phone: int, subscriber: str) -> None:
    delays = [5, 300, 1800, 7200, 18000, 36000, 36000, 57600, 86400]
    shown = change(api, subscriber, retry_delays_seconds=delays, requests_per_second=2.5)

    assert (shown["retry_delays_seconds"], shown["requests_per_second"]) == (delays, 2.5)
    assert change(api, subscriber, retry_delays_seconds=None)["requests_per_second"] == 2.5
    assert api.post(PATH, {"retry_delays_seconds": [86400] * 4}, receiver=subscriber).status_code == 400
    assert api.post(PATH, {"url": URL}, receiver=subscriber).status_code == 400
    assert api.post(PATH, {"events": ["mo_sms"]}, receiver=subscriber).status_code == 400


def test_one_that_is_off_gets_nothing_until_it_is_on(api: Api, phone: int) -> None:
    change(api, PHONE, url=URL)
    waiting = make_event(api, phone)

    off = change(api, PHONE, is_on=False)

    assert (off["health"], off["switched_off_reason"]) == ("off", None)
    assert api.results(DELIVERIES, uuid=waiting)[0]["status"] == "failed"
    assert make_event(api, phone) is None
    assert change(api, PHONE, url=URL + "/2")["health"] == "off"
    assert change(api, PHONE, is_on=True)["health"] == "healthy"
    assert make_event(api, phone) is not None


def test_a_new_secret_is_shown_once(api: Api, phone: int, subscriber: str) -> None:
    change(api, PHONE, url=URL)

    for key in (PHONE, subscriber):
        first, second = (api.post(SECRET, {}, receiver=key).json() for _ in range(2))
        assert first["secret"].startswith("whsec_") and first["secret"] != second["secret"]
        assert second["secret"] not in api.get(PATH).text


def test_a_receiver_that_chose_keys_gets_a_public_one(api: Api, subscriber: str) -> None:
    chosen = change(api, subscriber, signature="ed25519")
    rotated = api.post(SECRET, {}, receiver=subscriber).json()

    assert chosen["public_key"].startswith("whpk_") and chosen["public_key"] != rotated["public_key"]
    assert (rotated["secret"], rotated["signature"]) == (None, "ed25519")
    assert api.results(PATH)[0]["public_key"] == rotated["public_key"]
    assert change(api, subscriber, signature="symmetric")["public_key"] is None


def test_a_test_event_goes_to_either_kind(api: Api, phone: int, subscriber: str) -> None:
    assert api.post(TEST, {}, receiver=PHONE).status_code == 400
    change(api, PHONE, url=URL)

    for key in (PHONE, subscriber):
        made = api.post(TEST, {}, receiver=key)
        assert made.status_code == 201
        (listed,) = api.results(DELIVERIES, receiver=key)
        assert (listed["uuid"], listed["event"]) == (made.json()["delivery"], "test")
