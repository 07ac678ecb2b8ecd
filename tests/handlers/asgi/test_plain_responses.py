"""Streams and the clients that follow them.

Lists are compressed if the client accepts it, other responses never.
"""

import gzip
import logging
from collections.abc import AsyncIterator

import anyio
import pytest

from handlers.asgi.guard import Guard
from handlers.asgi.plain_responses import Stream, accepts_gzip
from relayboard.base.settings import load_settings
from tests.api import Api
from tests.factories import make_contacts
from tests.handlers.exchange import exchange

DECLARED = [("Content-Type", "application/json"), ("Content-Length", "10")]


async def pieces() -> AsyncIterator[bytes]:
    """A first piece, and no end."""
    yield b"data: 1\n\n"
    await anyio.sleep_forever()


@pytest.mark.parametrize(("ends", "status"), [(True, 200), (False, None)], ids=["too short", "broken off"])
def test_a_stream_ends_quietly_though_the_body_of_its_request_was_wrong(
    ends: bool, status: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    guard = Guard(Stream(pieces()), load_settings({"RELAYBOARD_SECRET_KEY": "a-key-that-only-tests-use"}))

    reply = exchange(guard, "GET", "/api/v2/stream", [b"{"], DECLARED, ends=ends, spec_version="2.3")

    assert reply.status == status
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_a_stream_ends_with_its_client() -> None:
    guard = Guard(Stream(pieces()), load_settings({"RELAYBOARD_SECRET_KEY": "a-key-that-only-tests-use"}))

    assert exchange(guard, "GET", "/api/v2/stream", spec_version="2.3").body == b"data: 1\n\n"


def ask(api: Api, path: str, encodings: str) -> tuple[dict[str, str], bytes]:
    headers = {"Authorization": f"Token {api.token}", "Accept-Encoding": encodings}
    with api.client.stream("GET", path, headers=headers) as response:
        body = b"".join(response.iter_raw())
        assert int(response.headers["Content-Length"]) == len(body)
        return dict(response.headers), body


@pytest.mark.together
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
