"""Providers are told where to call us when a channel is new, changed or has a new secret, and are asked whether its
settings work when somebody wants to know.
"""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from sqlalchemy import select, update

from channels.telegram import secret_token
from persistence.channels.checks import DELAYS, MOST_ATTEMPTS, Check
from persistence.tables.channels import channel, channel_check
from testbed.kept_databases import KeptDatabases
from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, forked_service, wait_until
from tests.api import Api
from tests.conftest import Clock
from tests.providers import TOKEN, Provider, json_reply, root_of
from tests.worker.receivers import Receiver, Reply, receiving
from worker.channels.checks import NO_URL, CheckQueue
from worker.dispatcher import Finished
from worker.runtime import Runtime

BASE = "https://relayboard.example.org"
SETTINGS, CHECKS = "/api/v2/channel_settings.json", "/api/v2/channel_checks.json"


@pytest.fixture
def provider() -> Iterator[Receiver]:
    played = Provider()
    with receiving(played) as running:
        played.root = root_of(running)
        yield running


def playing(provider: Receiver) -> Provider:
    assert isinstance(provider.respond, Provider)
    return provider.respond


def bot_of(provider: Receiver) -> dict[str, Any]:
    settings = {"auth_token": TOKEN, "api_url": root_of(provider)}
    return {"type": "telegram", "name": "Bot", "address": "clinic_bot", "scheme": "telegram", "settings": settings}


@dataclasses.dataclass
class Office:
    """A workspace with a bot, and the worker's queue of what providers are asked."""

    api: Api
    queue: CheckQueue
    provider: Receiver
    uuid: str = ""

    def lease(self) -> list[tuple[str, Check]]:
        with self.api.database.writing() as tx:
            return self.queue.lease(tx, dict.fromkeys(self.queue.list_due(tx), 1)).items

    def ask(self, leased: list[tuple[str, Check]]) -> None:
        done = [Finished(item, receiver, *self.queue.call(item)) for receiver, item in leased]
        with self.api.database.writing() as tx:
            self.queue.record(tx, done)()

    def work(self) -> int:
        leased = self.lease()
        self.ask(leased)
        return len(leased)

    @property
    def connection(self) -> Any:
        (settings,) = self.api.results(SETTINGS, uuid=self.uuid)
        return settings["connection"]

    @property
    def secret(self) -> str:
        return str(self.api.results(SETTINGS, uuid=self.uuid)[0]["secret"])

    def webhooks(self) -> list[Any]:
        return [body for method, body in playing(self.provider).calls if method == "setWebhook"]

    def change(self, **changes: Any) -> None:
        assert self.api.post(SETTINGS, changes, uuid=self.uuid).status_code == 200


@pytest.fixture
def office(api: Api, runtime: Runtime, provider: Receiver) -> Office:
    public = dataclasses.replace(runtime, settings=dataclasses.replace(runtime.settings, base_url=BASE))
    made = Office(api, CheckQueue(public), provider)
    made.uuid = api.post(SETTINGS, bot_of(provider)).json()["uuid"]
    return made


def test_a_new_channel_is_connected_with_its_url_and_secret(office: Office) -> None:
    assert office.connection == {"state": "waiting", "checked_on": None, "error": None}

    assert (office.work(), office.work()) == (1, 0)

    (told,) = office.webhooks()
    assert told["url"] == f"{BASE}/c/telegram/{office.uuid}/{office.secret}/"
    assert told["secret_token"] == secret_token(office.secret)
    assert (office.connection["state"], office.connection["error"]) == ("accepted", None)


def test_a_new_secret_and_new_settings_are_told_and_a_new_name_is_not(office: Office) -> None:
    office.work()
    for change in ({"name": "Clinic"}, {"rotate_secret": True}, {"settings": {"auth_token": TOKEN + "x"}}):
        office.change(**change)
        office.work()

    assert [each["secret_token"] for each in office.webhooks()[1:]] == [secret_token(office.secret)] * 2


def test_a_check_is_made_when_it_is_asked_for(office: Office) -> None:
    office.work()
    asked = office.api.post(CHECKS, {"channel": office.uuid})
    office.work()

    assert (asked.status_code, asked.json()["state"], asked.json()["kind"]) == (201, "waiting", "check")
    assert [(each["kind"], each["state"]) for each in office.api.results(CHECKS, channel=office.uuid)] == [
        ("check", "accepted"),
        ("connect", "accepted"),
    ]
    assert office.provider.received[-1].path.endswith("/getMe")


def test_what_has_nothing_to_ask_says_so(api: Api, office: Office) -> None:
    new = {"type": "external", "name": "Hub", "address": "8181", "settings": {"send_url": "http://127.0.0.1:1/"}}
    plain = api.post(SETTINGS, new).json()
    refused = api.post(CHECKS, {"channel": plain["uuid"]})

    assert (plain["connection"], refused.status_code) == (None, 400)
    assert "cannot be checked" in refused.json()["detail"]
    assert "channel" in api.post(CHECKS, {"channel": "3f0c1a52-8b7e-4d19-9a60-5c2f7be0d411"}).json()


def test_a_provider_that_fails_is_asked_five_times_with_growing_pauses(office: Office, clock: Clock) -> None:
    reply = json_reply({"ok": False, "description": f"Too late for {TOKEN}"}, 500)
    playing(office.provider).answers["setWebhook"] = [reply] * 9

    seen = []
    for delay in (*DELAYS, DELAYS[-1]):
        assert (office.work(), office.work()) == (1, 0)
        seen.append(office.connection["state"])
        clock.advance(seconds=delay.total_seconds())

    assert seen == ["waiting"] * (MOST_ATTEMPTS - 1) + ["failed"]
    assert office.connection["error"] == "Too late for ***"
    assert office.work() == 0


def test_a_refusal_in_the_words_of_the_provider_is_final(office: Office) -> None:
    words = "Bad Request: bad webhook: HTTPS url must be provided"
    playing(office.provider).answers["setWebhook"] = [json_reply({"ok": False, "description": words}, 400)]
    office.work()

    assert (office.connection["state"], office.connection["error"]) == ("failed", words)


def test_without_a_public_url_it_says_what_is_missing(office: Office, runtime: Runtime) -> None:
    office.queue = CheckQueue(runtime)
    office.work()

    assert (office.connection["state"], office.connection["error"]) == ("failed", NO_URL)
    assert office.provider.received == []


def test_what_changes_while_the_provider_is_told_is_told_afterwards_and_not_at_the_same_time(office: Office) -> None:
    leased = office.lease()
    office.change(rotate_secret=True)
    assert office.lease() == []
    office.ask(leased)
    office.work()

    assert office.webhooks()[-1]["secret_token"] == secret_token(office.secret)
    assert (len(office.webhooks()), office.connection["state"]) == (2, "accepted")


def test_what_a_worker_that_died_began_another_one_asks_and_not_for_ever(office: Office, clock: Clock) -> None:
    for _ in range(MOST_ATTEMPTS):
        late = office.lease()
        assert len(late) == 1
        clock.advance(hours=1)
    assert office.lease() == []
    office.ask(late)

    assert (office.connection["state"], "ended with its worker" in office.connection["error"]) == ("failed", True)


def test_a_channel_that_was_removed_is_not_connected(office: Office) -> None:
    assert office.api.delete(SETTINGS, uuid=office.uuid).status_code == 204

    assert (office.work(), office.provider.received) == (0, [])
    with office.api.database.reading() as tx:
        assert tx.execute(select(channel_check.c.id)).all() == []


def test_settings_that_cannot_be_read_are_not_sent(office: Office) -> None:
    with office.api.database.writing() as tx:
        tx.execute(update(channel).where(channel.c.uuid == office.uuid).values(secret=None))
    office.work()

    assert (office.connection["state"], office.provider.received) == ("failed", [])


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path
) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("checks")
    if request.param == "sqlite":
        path = folder / "relayboard.db"
        path.write_bytes(sqlite_template.read_bytes())
        with forked_service(f"sqlite:///{path}", folder, BASE_URL=BASE) as running:
            yield running
        return
    kept: KeptDatabases = request.getfixturevalue("kept_databases")
    with kept.lend() as url, forked_service(url, folder, BASE_URL=BASE) as running:
        yield running


def caller_of(service: RunningService) -> Callable[..., Any]:
    def call(method: str, path: str, body: Any = None, **query: Any) -> Any:
        headers = {"Authorization": f"Token {service.token}"}
        options: dict[str, Any] = {"json": body, "params": query, "headers": headers, "timeout": PATIENCE_SECONDS}
        response = requests.request(method, service.url + path, **options)
        assert response.ok, response.text
        return response.json()

    return call


def test_a_worker_process_connects_channels_and_one_provider_that_fails_delays_no_other(
    service: RunningService, provider: Receiver
) -> None:
    call = caller_of(service)
    refusing = {"status": 2, "status_message": "invalidAuthToken"}
    with receiving(lambda _request: Reply(200, json_reply(refusing).body)) as viber:
        settings = {"auth_token": "445da6az1s345z78-dazcczb2542zv51a", "api_url": root_of(viber)}
        new = {"type": "viber", "name": "Viber", "address": "clinic", "scheme": "viber", "settings": settings}
        failing = call("POST", SETTINGS, new)["uuid"]
        bot = call("POST", SETTINGS, bot_of(provider))["uuid"]

        def connection_of(uuid: str) -> Any:
            return call("GET", SETTINGS, uuid=uuid)["results"][0]["connection"]

        wait_until(lambda: connection_of(bot)["state"] == "accepted", "the bot to be connected")
        call("POST", SETTINGS, {"rotate_secret": True}, uuid=bot)
        wait_until(lambda: connection_of(bot)["state"] == "accepted", "the new secret to be told")
        wait_until(lambda: connection_of(failing)["error"] is not None, "the other provider to be asked")
        assert "invalidAuthToken" in connection_of(failing)["error"]

    secret = call("GET", SETTINGS, uuid=bot)["results"][0]["secret"]
    told = [body["secret_token"] for method, body in playing(provider).calls if method == "setWebhook"]
    assert (len(told), told[-1]) == (2, secret_token(secret))
