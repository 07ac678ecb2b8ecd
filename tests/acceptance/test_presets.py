"""Each preset against its provider, over the real service: the first message out, what became of it, a message in, and
calls of somebody else."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from channels.presets import list_presets
from testbed.running import RunningService, forked_service, wait_until
from tests.preset_providers import PERSON, PROVIDERS, Asked, Provider
from tests.worker.receivers import Received, Reply, receiving

PUBLIC = "https://relay.example.org"
TEXT, REPLY = "Your test result is here", "Thank you"


@pytest.fixture(scope="module")
def whole_service(shared_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with forked_service(shared_database_url, tmp_path_factory.mktemp("presets"), BASE_URL=PUBLIC) as running:
        yield running


@pytest.fixture
def service(whole_service: RunningService) -> RunningService:
    return whole_service.with_new_workspace()


def test_each_preset_has_its_provider() -> None:
    assert sorted(PROVIDERS) == list_presets()


@pytest.mark.parametrize("name", list_presets())
def test_a_preset_speaks_with_its_provider_both_ways(service: RunningService, name: str) -> None:
    provider = PROVIDERS[name]()
    asked = list[Asked]()

    def play(request: Received) -> Reply:
        asked.append(provider.read(request))
        return provider.reply

    with receiving(play) as server:
        address = urlsplit(server.url)
        fields = {"url": f"{address.scheme}://{address.netloc}", **provider.fields}
        new = {"preset": name, "fields": fields, "name": "SMS", "address": "+250788000001", "country": "RW"}
        channel = service.post("/api/v2/channel_settings.json", new)["uuid"]
        contact = service.post("/api/v2/contacts.json", {"name": "Ann", "urns": [f"tel:{PERSON}"]})["uuid"]
        message = service.post("/api/v2/messages.json", {"contact": contact, "text": TEXT})["uuid"]
        wait_until(lambda: status_of(service, message) == "wired", "the first message to be wired")

    assert [(each.to, each.text) for each in asked] == [(PERSON, TEXT)]
    callback_url = told_url(service, channel)
    expect_report(service, provider, message, asked[0], callback_url)
    expect_message(service, provider, contact, callback_url)


def expect_report(service: RunningService, provider: Provider, message: str, asked: Asked, callback_url: str) -> None:
    if not provider.reports:
        return
    report = provider.delivered(asked)
    if report.url:
        report = replace(report, url=report.url.replace(PUBLIC, service.url))
    answer = report.call(callback_url, provider.sign, key_of(provider))
    assert (answer.status_code, provider.is_told_back in answer.content) == (200, True), answer.text
    assert status_of(service, message) == "delivered"


def expect_message(service: RunningService, provider: Provider, contact: str, callback_url: str) -> None:
    """A message comes in once, however often it is reported, and not from somebody who does not prove who calls."""
    report, key = provider.received(REPLY), key_of(provider)
    stranger = callback_url.rsplit("/", 2)[0] + "/another-secret-of-somebody-else/"
    if provider.fields.keys() & {"signing_key", "signing_secret"}:
        assert report.call(callback_url, provider.sign, "forged").status_code == 403
    assert report.call(stranger, provider.sign, key).status_code == 401
    assert incoming(service, contact) == []
    for _ in range(2):
        answer = report.call(callback_url, provider.sign, key)
        assert (answer.status_code, provider.is_told_back in answer.content) == (200, True), answer.text
    assert incoming(service, contact) == [REPLY]


def key_of(provider: Provider) -> str:
    return provider.fields.get("signing_key") or provider.fields.get("signing_secret") or ""


def told_url(service: RunningService, channel: str) -> str:
    """The URL that the provider calls, at the address where the service is in this test."""
    (settings,) = service.get("/api/v2/channel_settings.json", uuid=channel)["results"]
    return str(settings["callback_url"]).replace(PUBLIC, service.url)


def status_of(service: RunningService, message: str) -> str:
    (found,) = service.get("/api/v2/messages.json", uuid=message)["results"]
    return str(found["status"])


def incoming(service: RunningService, contact: str) -> list[Any]:
    found = service.get("/api/v2/messages.json", contact=contact)["results"]
    return [each["text"] for each in found if each["direction"] == "in"]
