"""A bucket that is slow or gone: clients are told to try again, and nothing is lost."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from handlers.asgi import plain_responses
from persistence.media import s3
from persistence.media import store as media_records
from persistence.media.store import StoreUnavailable, finish_received, open_store, read_usage
from persistence.tables.messages import media
from relayboard.base.settings import Settings
from tests.api import Api
from tests.s3.faulty import FaultyNetwork, faulty_network

PATH = "/api/v2/media.json"
PICTURE = b"\x89PNG\r\n\x1a\n"
FAULTS = ["cut", "silent"]


@pytest.fixture(scope="module")
def whole_network(s3_server: str) -> Iterator[FaultyNetwork]:
    with pytest.MonkeyPatch.context() as hurry, faulty_network(s3_server) as network:
        hurry.setattr(s3, "SILENCE_SECONDS", 1.5)
        hurry.setattr(s3, "ATTEMPTS", 1)
        yield network


@pytest.fixture
def network(whole_network: FaultyNetwork) -> FaultyNetwork:
    whole_network.mend()
    return whole_network


@pytest.fixture
def settings(settings: Settings, network: FaultyNetwork) -> Settings:
    return replace(settings, s3_endpoint=network.url)


def upload(api: Api, content: bytes = PICTURE, key: str = "leaf") -> Any:
    headers = {"Authorization": f"Token {api.token}", "Idempotency-Key": key}
    return api.client.post(PATH, files={"file": ("leaf.png", content, "image/png")}, headers=headers)


def is_told_to_try_again(answer: Any) -> bool:
    return answer.status_code == 503 and list(answer.json()) == ["detail"] and int(answer.headers["Retry-After"]) > 0


@pytest.mark.parametrize("fault", FAULTS)
def test_an_upload_that_cannot_be_stored_is_a_503_and_the_next_attempt_stores_it(
    api: Api, network: FaultyNetwork, fault: str
) -> None:
    network.mode = fault
    refused = upload(api)
    network.mend()

    with api.database.reading() as tx:
        assert read_usage(tx, api.workspace.id) == 0
    accepted = upload(api)

    assert is_told_to_try_again(refused)
    assert accepted.status_code == 201
    assert api.client.get(accepted.json()["url"]).content == PICTURE


def test_a_file_whose_record_was_committed_takes_its_place_later(
    api: Api, settings: Settings, network: FaultyNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    network.poison = b"x-amz-copy-source"
    told = upload(api)
    network.mend()
    with api.database.reading() as tx:
        url = tx.execute(select(media.c.url)).scalar_one()

    again = upload(api)
    monkeypatch.setattr(media_records, "RECEIVED_SECONDS", -2.0)
    finish_received(api.database, open_store(settings))

    assert is_told_to_try_again(told)
    assert (again.status_code, again.json()["url"]) == (201, url)
    assert api.client.get(url).content == PICTURE


def test_a_move_that_was_cut_between_copy_and_deletion_is_finished_by_the_next(
    settings: Settings, network: FaultyNetwork
) -> None:
    store = open_store(settings)
    with store.writing("received/a") as file:
        file.write(PICTURE)
    network.poison = b"DELETE "

    with pytest.raises(StoreUnavailable):
        store.move("received/a", "here/a")
    network.mend()
    store.move("received/a", "here/a")
    store.move("received/a", "here/a")  # as another process would at the same time

    assert sorted(store.list_names()) == ["here/a"]
    with pytest.raises(FileNotFoundError):
        store.move("received/b", "here/b")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("headers", [{}, {"Range": "bytes=0-1"}])
def test_a_download_is_a_503_until_the_bucket_answers_again(
    api: Api, network: FaultyNetwork, fault: str, headers: dict[str, str]
) -> None:
    url = upload(api).json()["url"]
    network.mend()
    network.mode = fault
    refused = api.client.get(url, headers=headers)
    network.mend()

    assert is_told_to_try_again(refused)
    assert api.client.get(url, headers=headers).is_success


def test_a_download_that_stops_half_way_is_no_whole_file(api: Api, network: FaultyNetwork) -> None:
    url = upload(api, PICTURE * 200_000).json()["url"]
    network.mend()
    network.answer_bytes = 700_000

    with pytest.raises(StoreUnavailable, match="stopped sending"):
        api.client.get(url)


def test_downloads_wait_for_a_slow_bucket_only_so_long(
    api: Api, network: FaultyNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_responses, "AT_ONCE", 1)
    monkeypatch.setattr(plain_responses, "PATIENCE_SECONDS", 0.1)
    url = upload(api).json()["url"]
    network.mend()
    network.mode = "silent"
    answers: list[Any] = []
    threads = [threading.Thread(target=lambda: answers.append(api.client.get(url))) for _ in range(2)]
    for thread in threads:
        thread.start()
    while not answers:  # one of them waits for the bucket, the other one for its turn
        threads[0].join(0.01)
        threads[1].join(0.01)
    others = api.client.get("/api/v2/workspace.json", headers={"Authorization": f"Token {api.token}"})
    network.mend()
    for thread in threads:
        thread.join()

    assert [is_told_to_try_again(answer) for answer in answers] == [True, True]
    assert others.status_code == 200


def test_a_file_of_a_refused_upload_is_left_for_the_worker_when_it_cannot_be_deleted(
    api: Api, settings: Settings, network: FaultyNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    network.poison = b"DELETE "
    headers = {"Authorization": f"Token {api.token}"}
    refused = api.client.post(PATH, files={"file": ("a.html", b"<p>", "text/html")}, headers=headers)
    network.mend()
    store = open_store(settings)
    left = sorted(store.list_names())
    monkeypatch.setattr(media_records, "RECEIVED_SECONDS", -2.0)
    finish_received(api.database, store)

    assert refused.status_code == 400
    assert (len(left), list(store.list_names())) == (1, [])


def test_a_part_that_cannot_be_written_leaves_no_file(
    network: FaultyNetwork, changed: Callable[..., s3.S3Store], settings: Settings, tmp_path: Path
) -> None:
    store = open_store(settings)
    network.mode = "cut"
    with pytest.raises(StoreUnavailable), store.writing("archives/a.gz") as file:
        file.write(PICTURE)
    network.mend()
    with pytest.raises(KeyError), store.writing("archives/a.gz") as file:
        file.write(dict[str, bytes]()["missing"])

    assert list(store.list_names()) == []
