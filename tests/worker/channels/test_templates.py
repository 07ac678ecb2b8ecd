"""Templates of gateways are read by a worker: of a new channel, from time to time, and when somebody asks."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import select, update

from persistence.tables.channels import channel
from persistence.templates import READ_AGAIN_AFTER, TRY_AGAIN_AFTER, ask_for_templates
from tests.api import Api
from tests.conftest import Clock
from tests.providers import Channel, Provider, add_telegram, add_whatsapp, json_reply, root_of
from tests.worker.receivers import Receiver, Reply, receiving
from worker.channels.templates import begin_templates
from worker.runtime import Runtime

Read = Callable[[], bool]


def template_of(number: int, name: str, text: str, language: str = "en_US", status: str = "APPROVED") -> dict[str, Any]:
    body = {"type": "BODY", "text": text}
    return {"id": str(number), "name": name, "language": language, "status": status, "components": [body]}


@pytest.fixture
def provider() -> Iterator[Receiver]:
    played = Provider(templates=[template_of(1, "appointment", "Hi {{1}}, at {{2}}"), template_of(2, "news", "News")])
    with receiving(played) as running:
        played.root = root_of(running)
        yield running


@pytest.fixture
def whatsapp(api: Api, provider: Receiver) -> Channel:
    return add_whatsapp(api.database, api.workspace, provider)


@pytest.fixture
def read(runtime: Runtime) -> Read:
    return begin_templates(runtime)


def listed(api: Api) -> dict[str, list[tuple[str, str, str, int]]]:
    return {
        each["name"]: [
            (one["locale"], one["content"], one["status"], one["variable_count"]) for one in each["translations"]
        ]
        for each in api.results("/api/v2/templates.json")
    }


def played(provider: Receiver) -> Provider:
    assert isinstance(provider.respond, Provider)
    return provider.respond


def error_of(api: Api, whatsapp: Channel) -> str | None:
    with api.database.reading() as tx:
        return tx.execute(select(channel.c.templates_error).where(channel.c.id == whatsapp.id)).scalar_one()


def test_the_templates_of_a_new_channel_are_listed(api: Api, whatsapp: Channel, read: Read) -> None:
    assert read()
    assert not read()

    assert listed(api) == {
        "appointment": [("eng-US", "Hi {{1}}, at {{2}}", "approved", 2)],
        "news": [("eng-US", "News", "approved", 0)],
    }


def test_a_channel_of_a_type_without_templates_is_not_asked(api: Api, provider: Receiver, read: Read) -> None:
    add_telegram(api.database, api.workspace, provider)

    assert not read()


def test_what_changes_at_the_provider_changes_here_after_some_hours(
    api: Api, whatsapp: Channel, provider: Receiver, read: Read, clock: Clock
) -> None:
    read()
    before = {each["name"]: each["uuid"] for each in api.results("/api/v2/templates.json")}
    played(provider).templates = [
        template_of(1, "appointment", "Dear {{1}}", status="PAUSED"),
        template_of(3, "appointment", "Bonjour {{1}}", language="fr"),
    ]
    clock.moment += READ_AGAIN_AFTER

    assert read()

    assert listed(api) == {
        "appointment": [("eng-US", "Dear {{1}}", "rejected", 1), ("fra", "Bonjour {{1}}", "approved", 1)],
        "news": [],
    }
    assert {each["name"]: each["uuid"] for each in api.results("/api/v2/templates.json")} == before


def test_templates_that_did_not_change_keep_their_time(
    api: Api, whatsapp: Channel, provider: Receiver, read: Read, clock: Clock
) -> None:
    read()
    before = api.results("/api/v2/templates.json")
    clock.moment += READ_AGAIN_AFTER
    read()

    assert api.results("/api/v2/templates.json") == before


def test_they_are_read_page_by_page(api: Api, whatsapp: Channel, provider: Receiver, read: Read) -> None:
    first = {"data": [template_of(1, "one", "1")], "paging": {"cursors": {"after": "A"}, "next": "https://x/next"}}
    last = {"data": [template_of(2, "two", "2")], "paging": {"cursors": {"after": "B"}}}
    played(provider).answers["message_templates"] = [json_reply(first), json_reply(last)]
    read()

    assert sorted(listed(api)) == ["one", "two"]
    assert ["after=A" in each.path for each in provider.received] == [False, True]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (json_reply({"error": {"code": 190, "message": "Session has expired"}}, 401), "Session has expired"),
        (Reply(200, b"<html>"), "The response lists no templates"),
        (Reply(500, b"<p>access_token=EAAG</p>"), "<p>access_token=***</p>"),
    ],
)
def test_what_cannot_be_read_takes_nothing_away_and_is_tried_again_later(
    api: Api, whatsapp: Channel, provider: Receiver, read: Read, clock: Clock, answer: Reply, reason: str
) -> None:
    read()
    before = listed(api)
    played(provider).answers["message_templates"] = [answer]
    api.database.write(lambda tx: ask_for_templates(tx, api.workspace.id, whatsapp.id))

    assert read()
    assert reason in str(error_of(api, whatsapp))
    assert (listed(api), read()) == (before, False)
    clock.moment += TRY_AGAIN_AFTER
    assert read()
    assert error_of(api, whatsapp) is None


def test_a_page_that_names_itself_as_the_next_one_ends_the_reading(
    api: Api, whatsapp: Channel, provider: Receiver, read: Read
) -> None:
    page = {"data": [template_of(1, "one", "1")], "paging": {"cursors": {"after": "A"}, "next": "https://x/next"}}
    played(provider).answers["message_templates"] = [json_reply(page)] * 5
    read()

    assert (sorted(listed(api)), len(provider.received)) == (["one"], 2)


def test_a_channel_that_was_removed_is_not_asked(api: Api, whatsapp: Channel, read: Read) -> None:
    with api.database.writing() as tx:
        tx.execute(update(channel).where(channel.c.id == whatsapp.id).values(is_active=False))

    assert not read()
