"""Files that were uploaded, as receivers of messages fetch them."""

from pathlib import Path

import pytest

from handlers.asgi.plain_responses import MediaFiles
from persistence.media.store import open_store
from relayboard.base.settings import load_settings
from tests.handlers.exchange import Echo, exchange

FOLDER = "0f9e8d7c-6b5a-4c3d-8e2f-1a0b9c8d7e6f"
NAME = f"{FOLDER}/7a1c1f4e-0b5a-4c3d-8e2f-1a0b9c8d7e6f"


@pytest.fixture
def files(tmp_path: Path) -> MediaFiles:
    (tmp_path / "secret.key").write_text("hidden")
    environment = {
        "RELAYBOARD_SECRET_KEY": "a-key-that-only-tests-use",
        "RELAYBOARD_MEDIA_URL": f"file://{tmp_path}/media",
    }
    settings = load_settings(environment)
    store = open_store(settings)
    stored = dict.fromkeys([NAME + ending for ending in (".jpg", ".svg", ".html", "")], b"0123456789")
    for name, content in (stored | {"loose.jpg": b"hidden"}).items():
        with store.writing(name) as file:
            file.write(content)
    return MediaFiles(Echo(status=418), settings)


def test_a_stored_file_is_served_with_its_type_and_may_be_kept_for_ever(files):
    reply = exchange(files, "GET", f"/media/{NAME}.jpg")

    assert (reply.status, reply.body) == (200, b"0123456789")
    assert reply.headers["content-type"] == "image/jpeg"
    assert "immutable" in reply.headers["cache-control"]


def test_a_player_may_ask_for_a_part(files):
    reply = exchange(files, "GET", f"/media/{NAME}.jpg", headers=[("Range", "bytes=2-4")])

    assert (reply.status, reply.body, reply.headers["content-range"]) == (206, b"234", "bytes 2-4/10")


@pytest.mark.parametrize("ending", [".svg", ".html", ""])
def test_what_a_browser_could_run_is_served_as_mere_bytes(files, ending):
    reply = exchange(files, "GET", f"/media/{NAME}{ending}")

    assert reply.headers["content-type"] == "application/octet-stream"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in reply.headers["content-security-policy"]


@pytest.mark.together
@pytest.mark.parametrize(
    "path",
    [
        "/media/",
        "/media/loose.jpg",
        "/media/../secret.key",
        f"/media/{FOLDER}/../../secret.key",
        f"/media/{FOLDER}",
        f"/media/{NAME}.png",
        f"/media/{NAME}.jpg\n",
        f"/media/{NAME}.jpg.part",
        f"/media//{NAME}.jpg",
    ],
)
def test_nothing_else_is_served(files, path):
    reply = exchange(files, "GET", path)

    assert reply.status == 404
    assert list(reply.json) == ["detail"]


def test_files_can_only_be_read(files):
    assert exchange(files, "DELETE", f"/media/{NAME}.jpg").status == 405


def test_other_addresses_go_inside(files):
    assert exchange(files, "GET", "/api/v2/media.json").status == 418
