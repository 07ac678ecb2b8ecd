"""`relayboard media`: how much space the files of a workspace use, and how it is freed."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from relayboard.base.settings import Settings
from testbed.tokens import SECRET_KEY
from tests.api import Api

PATH = "/api/v2/media.json"
NOWHERE = "0f6b9b1a-2f5d-4b0c-9f57-0c8a9b0ddf7e"

Run = Callable[..., tuple[int, Any]]


@pytest.fixture
def run(run: Run, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Run:
    monkeypatch.setenv("RELAYBOARD_MEDIA_URL", settings.media_url)
    monkeypatch.setenv("RELAYBOARD_SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("RELAYBOARD_MEDIA_QUOTA_BYTES", "1000")
    return partial(run, "media")


def upload(api: Api, size: int) -> Any:
    return api.upload(PATH, "leaf.png", b"x" * size, "image/png").json()


def test_the_files_of_a_workspace_are_listed_with_the_room_they_take(run: Run, api: Api, other_api: Api) -> None:
    first, second = upload(api, 100), upload(api, 200)
    upload(other_api, 400)

    status, printed = run("list")

    assert status == 0
    assert (printed["used_bytes"], printed["quota_bytes"]) == (300, 1000)
    assert [each["uuid"] for each in printed["media"]] == [second["uuid"], first["uuid"]]


def test_a_deleted_file_is_gone_and_gives_its_room_back(run: Run, api: Api) -> None:
    first, second = upload(api, 100), upload(api, 200)

    assert run("delete", first["uuid"]) == (0, {"deleted": [first["uuid"]]})
    assert api.client.get(first["url"]).status_code == 404
    assert api.client.get(second["url"]).status_code == 200
    assert run("list")[1]["used_bytes"] == 200


@pytest.mark.parametrize("wrong", [NOWHERE, "no uuid"])
def test_nothing_is_deleted_when_one_of_them_is_not_there(run: Run, api: Api, wrong: str) -> None:
    file = upload(api, 100)

    assert run("delete", file["uuid"], wrong) == (1, None)
    assert api.client.get(file["url"]).status_code == 200


def test_the_files_of_others_are_not_there(run: Run, other_api: Api) -> None:
    file = upload(other_api, 100)

    assert run("delete", file["uuid"]) == (1, None)
    assert other_api.client.get(file["url"]).status_code == 200
