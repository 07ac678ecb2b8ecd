"""Uploads through the whole service: the form, its one file, and the way back to the bytes."""

import pytest

from tests.api import Api

PATH = "/api/v2/media.json"
PNG = b"\x89PNG and so on"


def form(*parts: str, end: str = "--x--\r\n") -> bytes:
    return ("".join(f"--x\r\n{part}\r\n" for part in parts) + end).encode()


FILE = 'Content-Disposition: form-data; name="file"; filename="a.png"\r\nContent-Type: image/png\r\n\r\ndata'
OTHER = 'Content-Disposition: form-data; name="other"\r\n\r\ntext'


def send(api: Api, body: bytes, media_type: str = "multipart/form-data; boundary=x") -> tuple[int, dict]:
    headers = {"Authorization": f"Token {api.token}", "Content-Type": media_type}
    response = api.client.post(PATH, content=body, headers=headers)
    return response.status_code, response.json()


def test_a_file_can_be_fetched_where_its_record_says(api: Api) -> None:
    record = api.upload(PATH, "photo.png", PNG, "image/png").json()

    fetched = api.client.get(record["url"])

    assert (fetched.content, fetched.headers["content-type"]) == (PNG, "image/png")


def test_other_parts_of_the_form_are_ignored(api: Api) -> None:
    assert send(api, form(OTHER, FILE))[0] == 201


@pytest.mark.together
@pytest.mark.parametrize(
    "body",
    [
        form(OTHER),
        form(OTHER.replace("other", "*\U0009a571")),
        form(OTHER.replace("other", "file")),
        form(FILE.replace('name="file"', 'name="files"')),
        form(),
    ],
)
def test_a_form_without_the_file_is_refused_by_its_name(api: Api, body: bytes) -> None:
    assert send(api, body) == (400, {"file": ["A value is required."]})


@pytest.mark.together
@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (form(FILE), "multipart/form-data; charset=utf-8"),
        (form(FILE), "multipart/form-data; boundary=y"),
        (form(FILE, FILE), "multipart/form-data; boundary=x"),
        (b"no form at all", "multipart/form-data; boundary=x"),
        (form("no header"), "multipart/form-data; boundary=x"),
        (form(*[OTHER] * 50), "multipart/form-data; boundary=x"),
    ],
    ids=["no boundary", "wrong boundary", "two files", "no form", "no headers", "too many parts"],
)
def test_a_broken_form_is_a_400(api: Api, body: bytes, media_type: str) -> None:
    status, answer = send(api, body, media_type)

    assert status == 400
    assert list(answer) in (["detail"], ["file"])


@pytest.mark.together
@pytest.mark.parametrize("media_type", ["multipart/form-data; boundary=x", "text/plain"])
def test_a_method_that_is_not_there_is_news_before_the_media_type(api: Api, media_type: str) -> None:
    answers = [
        api.client.put(path, content=b"x", headers={"Content-Type": media_type})
        for path in (PATH, "/api/v2/labels.json")
    ]

    assert [(one.status_code, one.headers["allow"]) for one in answers] == [
        (405, "POST"),
        (405, "DELETE, GET, HEAD, POST"),
    ]
