"""Lists are compressed if the client accepts it, other responses never."""

import gzip

import pytest

from handlers.asgi.compression import accepts_gzip
from tests.api import Api
from tests.factories import make_contacts


def ask(api: Api, path: str, encodings: str) -> tuple[dict[str, str], bytes]:
    headers = {"Authorization": f"Token {api.token}", "Accept-Encoding": encodings}
    with api.client.stream("GET", path, headers=headers) as response:
        body = b"".join(response.iter_raw())
        assert int(response.headers["Content-Length"]) == len(body)
        return dict(response.headers), body


@pytest.mark.parametrize("path", ["/api/v1/contacts.json", "/api/v2/contacts.json"])
def test_a_list_is_compressed_when_asked_for(api: Api, path: str) -> None:
    make_contacts(api.database, api.workspace, 100)

    plain_headers, plain = ask(api, path, "identity")
    headers, packed = ask(api, path, "gzip, deflate")

    assert (headers["content-encoding"], headers["vary"]) == ("gzip", "Accept-Encoding")
    assert headers["content-type"] == "application/json"
    assert "content-encoding" not in plain_headers
    assert plain_headers["vary"] == "Accept-Encoding"
    assert len(packed) * 5 < len(plain)
    assert gzip.decompress(packed) == plain


def test_short_lists_and_single_records_stay_as_they_are(api: Api) -> None:
    for path in ("/api/v2/labels.json", "/api/v2/workspace.json"):
        assert "content-encoding" not in ask(api, path, "gzip")[0]


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        ("gzip", True),
        ("GZIP;q=0.5, br", True),
        ("x-gzip", True),
        ("*", True),
        ("br, *;q=0.1", True),
        ("gzip;q=0", False),
        ("gzip;q=0.0, *", False),
        ("*;q=0", False),
        ("br, deflate", False),
        ("", False),
        ("gzipped", False),
    ],
)
def test_the_header_is_read_as_http_has_it(header: str, accepted: bool) -> None:
    assert accepts_gzip(header) is accepted
