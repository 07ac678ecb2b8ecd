"""Files of incoming messages are fetched from the providers by a worker, within bounds and at most a few times."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, func, select, update

from channels.calls import Media
from persistence.database import Database
from persistence.media.incoming import MOST_ATTEMPTS, PAUSES, LeasedFile, keep_file, lease_files, plan_files
from persistence.media.store import FolderStore, open_store, place_in_store
from persistence.messages.actions import delete_messages
from persistence.tables.channels import channel, gateway_call
from persistence.tables.messages import incoming_file, media, media_usage
from persistence.workspaces.records import Workspace
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from tests.api import Api
from tests.conftest import Clock
from tests.providers import (
    JPEG,
    PICTURE,
    TOKEN,
    Channel,
    Provider,
    add_telegram,
    add_whatsapp,
    json_reply,
    root_of,
    telegram_update,
    whatsapp_message,
)
from tests.worker.receivers import Received, Receiver, Reply, receiving
from worker.channels.files import MOST_SLOTS, SIZE_LIMIT_BYTES, SLOTS, begin_files, file_queue
from worker.runtime import Runtime

PHOTO = [{"file_id": "small", "width": 9, "height": 9}, {"file_id": "large", "width": 90, "height": 90}]
Step = Callable[[], bool]


@pytest.fixture
def provider() -> Iterator[Receiver]:
    played = Provider()
    with receiving(played) as running:
        played.root = root_of(running)
        yield running


@pytest.fixture
def telegram(api: Api, provider: Receiver) -> Channel:
    return add_telegram(api.database, api.workspace, provider)


@pytest.fixture
def fetch(runtime: Runtime) -> Step:
    """What the worker does until nothing is due, one file after the other; whether there was any."""
    queue = file_queue(runtime)

    def run() -> bool:
        has_worked = False
        while leased := runtime.database.write(lambda tx: queue.lease(tx, dict.fromkeys(queue.list_due(tx), 1))).items:
            has_worked = True
            for _, item in leased:
                queue.call(item)
        return has_worked

    return run


def lease_one(api: Api, channel: Channel) -> LeasedFile:
    (leased,) = api.database.write(lambda tx: lease_files(tx, {(api.workspace.id, channel.id): 2}))
    return leased


def receive(api: Api, telegram: Channel, **message: Any) -> str:
    """The URL of the file of a message that comes in; of a photo, if nothing else is said."""
    body, headers = telegram_update(7, **(message or {"photo": PHOTO}))
    assert api.client.post(telegram.path, content=body, headers=headers).status_code == 200
    (stored,) = api.results("/api/v2/messages.json")
    (attachment,) = stored["attachments"]
    return str(attachment["url"])


def path_of(url: str) -> str:
    return "/media/" + place_in_store(url)


def count(api: Api, table: Any) -> int:
    with api.database.reading() as tx:
        return int(tx.execute(select(func.count()).select_from(table)).scalar_one())


def calls_of(api: Api) -> list[Any]:
    with api.database.reading() as tx:
        return list(tx.execute(select(gateway_call).where(gateway_call.c.direction == "out")).all())


def test_a_file_has_its_address_before_it_is_fetched_and_is_there_afterwards(
    api: Api, telegram: Channel, provider: Receiver, fetch: Step
) -> None:
    url = receive(api, telegram)
    before = api.client.get(path_of(url))

    fetch()

    after = api.client.get(path_of(url))
    assert (before.status_code, before.headers["retry-after"]) == (404, "10")
    assert (after.status_code, after.content, after.headers["content-type"]) == (200, PICTURE, "image/jpeg")
    assert "file_id=large" in provider.received[0].path
    assert (count(api, incoming_file), count(api, media)) == (0, 1)


def test_a_provider_whose_files_do_not_come_holds_up_no_other_channel(
    api: Api, telegram: Channel, provider: Receiver, runtime: Runtime
) -> None:
    """Of the same workspace, and with more files than there are slots."""
    may_go_on, asked = threading.Event(), threading.Semaphore(0)

    def wait(_request: Received) -> Reply:
        asked.release()
        may_go_on.wait(PATIENCE_SECONDS)
        return Reply(503)

    with receiving(wait) as slow:
        other = add_telegram(api.database, api.workspace, slow, "other_bot")
        for number in range(2 * SLOTS):
            body, headers = telegram_update(number, photo=PHOTO)
            assert api.client.post(other.path, content=body, headers=headers).status_code == 200
        step = begin_files(runtime)
        step()
        assert asked.acquire(timeout=PATIENCE_SECONDS)
        body, headers = telegram_update(7, photo=PHOTO)
        assert api.client.post(telegram.path, content=body, headers=headers).status_code == 200
        (stored,) = api.results("/api/v2/messages.json", channel=telegram.uuid)
        step()
        wait_until(lambda: api.client.get(path_of(stored["attachments"][0]["url"])).status_code == 200, "the file")
        assert len(slow.received) <= MOST_SLOTS
        may_go_on.set()


def test_a_file_of_whatsapp_is_fetched_with_the_token_of_the_channel(api: Api, provider: Receiver, fetch: Step) -> None:
    whatsapp = add_whatsapp(api.database, api.workspace, provider)
    body, headers = whatsapp_message("wamid.1", image={"id": "77", "mime_type": "image/jpeg", "caption": "My field"})
    assert api.client.post(whatsapp.path, content=body, headers=headers).status_code == 200

    fetch()

    (stored,) = api.results("/api/v2/messages.json")
    assert stored["text"] == "My field"
    assert api.client.get(path_of(stored["attachments"][0]["url"])).content == PICTURE
    assert {each.headers["authorization"] for each in provider.received} == {"Bearer EAAJB-token"}


def test_a_place_is_an_attachment_that_nobody_fetches(api: Api, telegram: Channel, fetch: Step) -> None:
    assert receive(api, telegram, location={"latitude": -1.944, "longitude": 30.062}) == "-1.944,30.062"
    assert not fetch()


@pytest.mark.parametrize(
    "sent",
    [
        {"text": "Here", "location": {"latitude": "javascript:alert(1)//", "longitude": 1}},
        {"text": "Here", "location": {"latitude": 91, "longitude": 1}},
        {"caption": "Here", "photo": [{"file_id": "a\0b"}]},
        {"caption": "Here", "photo": [{"file_id": "a" * 5000}]},
    ],
)
def test_what_nobody_can_open_or_fetch_is_left_out_of_its_message(
    api: Api, telegram: Channel, sent: dict[str, Any]
) -> None:
    body, headers = telegram_update(7, **sent)

    assert api.client.post(telegram.path, content=body, headers=headers).status_code == 200
    (stored,) = api.results("/api/v2/messages.json")
    assert (stored["text"], stored["attachments"]) == ("Here", [])


@pytest.mark.parametrize(
    ("url", "kept"),
    [("https://a.example/1.jpg", 1), ("javascript:alert(1)", 0), ("//a.example", 0), ("http://a\0b", 0)],
)
def test_a_public_url_of_a_file_is_one_that_a_browser_opens(
    database: Database, workspace: Workspace, url: str, kept: int
) -> None:
    with database.writing() as tx:
        planned = plan_files(tx, workspace.id, "https://relayboard.example.org", [Media("image", url)])

    assert [each.url for each in planned] == [url][:kept]


def test_a_repeated_message_has_its_file_once(api: Api, telegram: Channel, fetch: Step) -> None:
    assert receive(api, telegram) == receive(api, telegram)
    fetch()

    assert count(api, media) == 1


def test_a_file_that_does_not_come_is_tried_a_few_times_and_given_up_with_a_trace(
    api: Api, telegram: Channel, provider: Receiver, fetch: Step, clock: Clock
) -> None:
    url = receive(api, telegram)
    provider.respond = lambda _request: Reply(500, b"out of order")
    for pause in PAUSES:
        assert fetch()
        assert not fetch()
        clock.moment += pause

    assert not fetch()
    assert len(provider.received) == MOST_ATTEMPTS
    gone = api.client.get(path_of(url))
    assert (gone.status_code, "retry-after" in gone.headers) == (404, False)
    (call,) = calls_of(api)
    assert (call.status, call.answer, call.channel_id) == (500, "out of order", telegram.id)
    assert TOKEN not in call.url
    assert sum(PAUSES[:-1], timedelta()) < timedelta(hours=1)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Reply(200, b"x" * (SIZE_LIMIT_BYTES + 1), JPEG), "The file is larger than 25 MiB."),
        (Reply(200, b"", JPEG), "The file is empty."),
        (Reply(404, b"gone"), "The provider answered with status 404."),
    ],
)
def test_what_never_comes_is_given_up_at_once(
    api: Api, telegram: Channel, provider: Receiver, fetch: Step, answer: Reply, reason: str
) -> None:
    url = receive(api, telegram)
    assert isinstance(provider.respond, Provider)
    provider.respond.file = lambda: answer

    fetch()

    assert api.client.get(path_of(url)).status_code == 404
    assert [call.error for call in calls_of(api)] == [reason]
    assert (count(api, incoming_file), count(api, media)) == (0, 0)


def test_a_page_of_a_proxy_is_not_taken_for_a_picture(
    api: Api, telegram: Channel, provider: Receiver, fetch: Step, clock: Clock
) -> None:
    url = receive(api, telegram)
    assert isinstance(provider.respond, Provider)
    provider.respond.file = lambda: Reply(200, b"<html>Sign in</html>", {"Content-Type": "text/html"})
    fetch()
    assert api.client.get(path_of(url)).status_code == 404
    provider.respond.file = lambda: Reply(200, PICTURE, {"Content-Type": "application/octet-stream"})
    clock.moment += PAUSES[0]

    fetch()

    assert api.client.get(path_of(url)).content == PICTURE


def test_what_a_browser_would_execute_is_served_as_a_file_to_save(api: Api, telegram: Channel, fetch: Step) -> None:
    url = receive(api, telegram, document={"file_id": "d", "mime_type": "text/html"})
    fetch()

    assert api.client.get(path_of(url)).headers["content-type"] == "application/octet-stream"


def test_a_file_over_the_quota_of_the_workspace_is_given_up(
    api: Api, telegram: Channel, fetch: Step, runtime: Runtime
) -> None:
    receive(api, telegram)
    with api.database.writing() as tx:
        tx.execute(media_usage.insert().values(workspace_id=api.workspace.id, bytes=runtime.settings.media_quota_bytes))

    fetch()

    assert ["there is no space left" in call.error for call in calls_of(api)] == [True]
    assert list(FolderStore(runtime.settings.media_url).list_names()) == []


def test_a_file_of_a_message_that_was_deleted_is_not_fetched(
    api: Api, telegram: Channel, provider: Receiver, fetch: Step
) -> None:
    receive(api, telegram)
    (stored,) = api.results("/api/v2/messages.json")
    api.database.write(lambda tx: delete_messages(tx, api.workspace.id, [stored["id"]]))

    assert not fetch()
    assert provider.received == []


def test_a_file_of_a_message_that_is_deleted_meanwhile_is_not_kept(
    api: Api, telegram: Channel, provider: Receiver, fetch: Step, runtime: Runtime
) -> None:
    receive(api, telegram)
    assert isinstance(provider.respond, Provider)

    def delete_and_answer() -> Reply:
        (stored,) = api.results("/api/v2/messages.json")
        api.database.write(lambda tx: delete_messages(tx, api.workspace.id, [stored["id"]]))
        return Reply(200, PICTURE, JPEG)

    provider.respond.file = delete_and_answer
    fetch()

    assert count(api, media) == 0
    assert list(FolderStore(runtime.settings.media_url).list_names()) == []


@pytest.mark.parametrize("gone", [{"is_active": False}, {"workspace_id": None}], ids=["released", "moved"])
def test_a_file_of_a_channel_that_is_gone_is_given_up(
    api: Api, telegram: Channel, fetch: Step, gone: dict[str, Any]
) -> None:
    receive(api, telegram)
    with api.database.writing() as tx:
        tx.execute(update(channel).where(channel.c.id == telegram.id).values(**gone))

    fetch()

    assert ["The channel was removed" in call.error for call in calls_of(api)] == [True]


def test_a_worker_that_dies_before_the_commit_leaves_the_file_to_the_next_one(
    api: Api, telegram: Channel, fetch: Step, clock: Clock, runtime: Runtime
) -> None:
    url = receive(api, telegram)
    leased = lease_one(api, telegram)
    with open_store(runtime.settings).receiving(leased.uuid) as file:
        file.write(b"half of a pic")
    assert not fetch()
    clock.moment += PAUSES[0]

    fetch()

    assert api.client.get(path_of(url)).content == PICTURE


def test_a_worker_that_dies_after_the_commit_leaves_only_the_place_of_the_file_to_the_next_one(
    api: Api, telegram: Channel, provider: Receiver, fetch: Step, clock: Clock, runtime: Runtime
) -> None:
    url = receive(api, telegram)
    leased = lease_one(api, telegram)
    with open_store(runtime.settings).receiving(leased.uuid) as file:
        file.write(PICTURE)
    kept = api.database.write(lambda tx: keep_file(tx, leased, "image/jpeg", len(PICTURE), 10**9))
    assert kept
    clock.moment += PAUSES[0]

    fetch()

    assert api.client.get(path_of(url)).content == PICTURE
    assert (provider.received, count(api, incoming_file), count(api, media)) == ([], 0, 1)


def test_a_worker_whose_lease_is_over_does_not_keep_its_file_beside_the_next_one(
    api: Api, telegram: Channel, clock: Clock
) -> None:
    receive(api, telegram)
    late = lease_one(api, telegram)
    clock.moment += PAUSES[0]
    lease_one(api, telegram)

    assert not api.database.write(lambda tx: keep_file(tx, late, "image/jpeg", 5, 10**9))


def test_a_response_without_a_path_is_tried_again(
    api: Api, telegram: Channel, provider: Receiver, fetch: Step, clock: Clock
) -> None:
    url = receive(api, telegram)
    assert isinstance(provider.respond, Provider)
    provider.respond.answers["getFile"] = [json_reply({"ok": True, "result": {}})]
    fetch()
    clock.moment += PAUSES[0]

    fetch()

    assert api.client.get(path_of(url)).content == PICTURE


def test_files_of_one_workspace_are_not_expected_by_their_names_alone(api: Api, telegram: Channel) -> None:
    url = receive(api, telegram)
    with api.database.writing() as tx:
        tx.execute(delete(incoming_file))

    assert "retry-after" not in api.client.get(path_of(url)).headers
