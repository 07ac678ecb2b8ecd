"""The media store always has exactly one file for every record, within the quota."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from sqlalchemy import event, select
from starlette.testclient import TestClient

from persistence.database import Database
from persistence.media import store as media_records
from persistence.media.store import FolderStore, MediaStore, finish_received, open_store
from persistence.tables.messages import media
from relayboard.base.settings import Settings
from testbed.set_by_name import by_name
from tests.api import Api

PATH = "/api/v2/media.json"
PICTURE = b"\x89PNG\r\n\x1a\n"

MakeClient = Callable[..., AbstractContextManager[TestClient]]


@pytest.fixture
def store(settings: Settings) -> MediaStore:
    return open_store(settings)


def files_of(store: MediaStore) -> list[str]:
    return sorted(store.list_names())


@pytest.fixture
def long_ago(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From then on as if the files had been received long ago."""
    return lambda: monkeypatch.setattr(media_records, "RECEIVED_SECONDS", -2.0)


def upload(api: Api, content: bytes = PICTURE, kind: str = "image/png") -> Any:
    return api.upload(PATH, "leaf.png", content, kind)


@contextmanager
def failing(database: Database, beginning: str, error: Exception) -> Iterator[None]:
    """Statements that do this fail."""

    def fail(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if beginning in statement:  # what is prepared says at its end what it does
            raise error

    event.listen(database.engine, "before_cursor_execute", fail)
    try:
        yield
    finally:
        event.remove(database.engine, "before_cursor_execute", fail)


@pytest.mark.together
@pytest.mark.parametrize(
    "kind",
    [
        "image/png\x00",
        "image/p\x00ng",
        "audio/a\x00b",
        "audio/\x01",
        "audio/a\x7fb",
        "audio/a\x85b",
        "audio/..",
        "audio/../x",
        "audio/vnd.wave",
        "video/a.b",
        "video/",
        "audio/a b",
        "audio/a/b",
        "audio/" + "a" * 300,
        "video/é",
        "image/png.exe",
        "image/\u0130",
    ],
)
def test_odd_media_types_are_refused_by_field_and_leave_no_file(api: Api, store: MediaStore, kind: str) -> None:
    head = f'--x\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\nContent-Type: {kind}\r\n\r\n'
    headers = {"Authorization": f"Token {api.token}", "Content-Type": "multipart/form-data; boundary=x"}

    response = api.client.post(PATH, content=head.encode() + b"data\r\n--x--\r\n", headers=headers)

    # A form that holds characters no header may have is not a form at all; both is a 400.
    assert response.status_code == 400
    assert list(response.json()) in (["file"], ["detail"])
    assert files_of(store) == []


@pytest.mark.together
@pytest.mark.parametrize("name", ["a\x00b.png", "a\rb.png", "\x07", "\x1b[31m.png"])
def test_names_lose_their_control_characters(api: Api, name: str) -> None:
    head = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: image/png\r\n\r\n'
    headers = {"Authorization": f"Token {api.token}", "Content-Type": "multipart/form-data; boundary=x"}

    response = api.client.post(PATH, content=head.encode() + b"data\r\n--x--\r\n", headers=headers)

    assert response.status_code in (201, 400), response.text
    assert response.status_code == 400 or response.json()["filename"].isprintable()


@pytest.mark.parametrize("error", [RuntimeError("broken"), ValueError("refused")])
@pytest.mark.parametrize("beginning", ["INSERT INTO media ", "INSERT INTO media_usage", "UPDATE idempotency_answer"])
def test_a_failure_while_the_record_is_made_leaves_no_file(
    api: Api, store: MediaStore, error: Exception, beginning: str
) -> None:
    headers = {"Authorization": f"Token {api.token}", "Idempotency-Key": "leaf"}
    with failing(api.database, beginning, error):
        response = api.client.post(PATH, files={"file": ("a.png", PICTURE, "image/png")}, headers=headers)

    assert response.status_code == 500
    assert files_of(store) == []
    assert upload(api).status_code == 201


def test_a_replayed_upload_leaves_one_file(api: Api, store: MediaStore) -> None:
    headers = {"Authorization": f"Token {api.token}", "Idempotency-Key": "leaf"}
    for _ in range(3):
        response = api.client.post(PATH, files={"file": ("a.png", PICTURE, "image/png")}, headers=headers)
        assert response.status_code == 201

    assert len(files_of(store)) == 1


def test_a_file_that_cannot_take_its_place_at_once_does_so_later(
    api: Api, settings: Settings, store: MediaStore, long_ago: Callable[[], None]
) -> None:
    folder = FolderStore(settings.media_url).folder
    place = folder / api.workspace.uuid
    folder.mkdir(parents=True)
    place.write_bytes(b"in the way")
    response = upload(api)
    place.unlink()
    long_ago()

    finish_received(api.database, store)

    with api.database.reading() as tx:
        url = tx.execute(select(media.c.url)).scalar_one()
    assert response.status_code == 500
    assert api.client.get(url).content == PICTURE
    assert len(files_of(store)) == 1


def test_what_a_killed_process_received_is_deleted_when_nobody_can_be_writing_it_any_more(
    api: Api, store: MediaStore, long_ago: Callable[[], None]
) -> None:
    for uuid in ("0f6b9b1a-2f5d-4b0c-9f57-0c8a9b0ddf7e", "1f6b9b1a-2f5d-4b0c-9f57-0c8a9b0ddf7e"):
        with store.receiving(uuid) as file:
            file.write(PICTURE)

    finish_received(api.database, store)
    young = len(files_of(store))
    long_ago()
    finish_received(api.database, store)

    assert (young, files_of(store)) == (2, [])


def test_the_files_of_people_are_for_their_owner_only(api: Api, settings: Settings) -> None:
    upload(api)

    found = list(FolderStore(settings.media_url).folder.rglob("*"))
    modes = {each.stat().st_mode & 0o777 for each in found if each.is_file()}
    folders = {each.stat().st_mode & 0o777 for each in found if each.is_dir()}
    assert (modes, folders) == ({0o600}, {0o700})


class TestHosts:
    EVIL = "evil.example.org"

    def ask(self, api: Api, host: str) -> str:
        headers = {"Authorization": f"Token {api.token}", "Host": host}
        response = api.client.post(PATH, files={"file": ("a.png", PICTURE, "image/png")}, headers=headers)
        url: str = response.json()["url"]
        return url

    def test_a_stored_address_does_not_take_the_name_that_a_client_sent(self, api: Api) -> None:
        assert self.ask(api, self.EVIL).startswith("http://testserver/media/")

    def test_the_setting_counts_where_there_is_one(self, api: Api, make_client: MakeClient) -> None:
        with make_client(**by_name(BASE_URL="https://sms.example.org")) as client:
            other = Api(client, api.database, api.workspace, api.token)

            assert self.ask(other, self.EVIL).startswith("https://sms.example.org/media/")


class TestQuotas:
    @pytest.fixture
    def small(self, api: Api, make_client: MakeClient) -> Iterator[Api]:
        with make_client(media_quota_bytes=250) as client:
            yield Api(client, api.database, api.workspace, api.token)

    def test_a_file_beyond_the_room_of_the_workspace_is_a_409_and_leaves_none(
        self, small: Api, other_api: Api, store: MediaStore
    ) -> None:
        statuses = [upload(small, b"x" * 100).status_code for _ in range(3)]
        refused = upload(small, b"x" * 100)

        assert statuses == [201, 201, 409]
        assert refused.json() == {
            "detail": "The files of a workspace may occupy 250 bytes; there is no space left for this file."
        }
        assert (upload(small, b"x" * 50).status_code, upload(small, b"x").status_code) == (201, 409)
        assert upload(other_api).status_code == 201
        assert len(files_of(store)) == 4

    def test_simultaneous_uploads_do_not_share_the_last_room(self, small: Api, store: MediaStore) -> None:
        statuses: list[int] = []
        threads = [
            threading.Thread(target=lambda: statuses.append(upload(small, b"x" * 100).status_code)) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert sorted(statuses) == [201, 201, 409, 409]
        assert len(files_of(store)) == 2

    def test_a_failed_upload_takes_no_room(self, small: Api) -> None:
        for _ in range(3):
            with failing(small.database, "INSERT INTO media ", RuntimeError("broken")):
                assert upload(small, b"x" * 200).status_code == 500

        assert upload(small, b"x" * 200).status_code == 201
