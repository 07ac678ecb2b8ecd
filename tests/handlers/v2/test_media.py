"""`/api/v2/media.json` over HTTP."""

import httpx
import pytest

from persistence.workspaces.records import Workspace
from tests.api import Api

PATH = "/api/v2/media.json"
LARGEST_BYTES = 25 * 1024 * 1024
PICTURE = b"\x89PNG\r\n\x1a\n"


def upload(api: Api, content: bytes = PICTURE, name: str = "leaf.png", kind: str = "image/png") -> httpx.Response:
    return api.upload(PATH, name, content, kind)


class TestUploadMedia:
    def test_a_file_is_answered_with_its_record_and_served(self, api: Api, workspace: Workspace) -> None:
        response = upload(api)

        record = response.json()
        assert response.status_code == 201
        assert record == {
            "uuid": record["uuid"],
            "content_type": "image/png",
            "url": f"http://testserver/media/{workspace.uuid}/{record['uuid']}.png",
            "filename": "leaf.png",
            "size": len(PICTURE),
        }
        assert api.client.get(record["url"]).content == PICTURE

    @pytest.mark.together
    @pytest.mark.parametrize(
        "kind",
        [
            "image/apng",
            "image/avif",
            "image/gif",
            "image/heic",
            "image/heif",
            "image/jpeg",
            "image/webp",
            "audio/mpeg",
            "audio/ogg; codecs=opus",
            "video/mp4",
            "application/pdf",
            "IMAGE/PNG",
        ],
    )
    def test_pictures_sounds_films_and_pdf_are_accepted(self, api: Api, kind: str) -> None:
        response = upload(api, kind=kind)

        assert (response.status_code, response.json()["content_type"]) == (201, kind.split(";")[0].lower())

    @pytest.mark.together
    @pytest.mark.parametrize(
        "kind", ["image/svg+xml", "image/tiff", "text/html", "application/zip", "application/octet-stream", "x"]
    )
    def test_other_types_are_refused_by_field(self, api: Api, kind: str) -> None:
        response = upload(api, kind=kind)

        assert (response.status_code, list(response.json())) == (400, ["file"])

    def test_a_repeated_upload_with_one_idempotency_key_stores_one_file(self, api: Api) -> None:
        def send(content: bytes, boundary: str) -> httpx.Response:
            kind = f"multipart/form-data; boundary={boundary}"
            headers = {"Authorization": f"Token {api.token}", "Idempotency-Key": "leaf", "Content-Type": kind}
            return api.client.post(PATH, files={"file": ("leaf.png", content, "image/png")}, headers=headers)

        first, again, other = send(PICTURE, "one"), send(PICTURE, "two"), send(PICTURE + b"x", "three")

        assert (first.status_code, again.status_code, other.status_code) == (201, 201, 409)
        assert first.json() == again.json()

    def test_an_empty_file_is_refused_by_field(self, api: Api) -> None:
        response = upload(api, content=b"")

        assert (response.status_code, list(response.json())) == (400, ["file"])

    @pytest.mark.together
    @pytest.mark.parametrize("name", ["map 1.png", "../../etc/passwd", "страница.png", "x" * 300 + ".png"])
    def test_a_name_is_kept_for_people_and_never_becomes_a_path(self, api: Api, name: str) -> None:
        record = upload(api, name=name).json()

        assert record["filename"] == name[-255:]
        assert record["url"].endswith(f"/{record['uuid']}.png")

    def test_a_file_of_the_largest_size_is_accepted_and_one_byte_more_is_not(self, api: Api) -> None:
        accepted = upload(api, b"x" * LARGEST_BYTES, "film.mp4", "video/mp4")
        refused = upload(api, b"x" * (LARGEST_BYTES + 1), "film.mp4", "video/mp4")

        assert (accepted.status_code, accepted.json()["size"]) == (201, LARGEST_BYTES)
        assert refused.status_code in (400, 413)
        assert refused.status_code == 413 or list(refused.json()) == ["file"]

    def test_a_json_body_is_no_file(self, api: Api) -> None:
        assert api.post(PATH, {"file": "x"}).status_code == 415


@pytest.mark.together
@pytest.mark.parametrize(
    ("name", "kind", "stored", "ending"),
    [
        ("leaf.jpg", "image/jpg", "image/jpeg", ".jpg"),
        ("leaf.jpg", "image/pjpeg", "image/jpeg", ".jpg"),
        ("IMG_1.HEIC", "image/heic", "image/heic", ".heic"),
        ("IMG_1.HEIC", "application/octet-stream", "image/heic", ".heic"),
        ("IMG_1.heif", "image/heif-sequence", "image/heif-sequence", ".heif"),
    ],
)
def test_pictures_of_phones_and_kinds_with_another_name_are_pictures(
    api: Api, name: str, kind: str, stored: str, ending: str
) -> None:
    answer = upload(api, name=name, kind=kind)

    assert answer.status_code == 201
    assert answer.json()["content_type"] == stored
    assert answer.json()["url"].endswith(ending)
