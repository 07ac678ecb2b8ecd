"""Bodies that never end: the service does not wait forever.

URLs of requests: what is refused, and what the inner layers get of the others.
"""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs, quote

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.asgi.plain_responses import ClientGone, Refusal
from handlers.asgi.request_body import URL_LIMIT_BYTES, Body, BodyMemory, check_url
from tests.api import Api

LIMIT_BYTES = 100_000
CHUNKED = [(b"transfer-encoding", b"chunked")]
TIMEOUT_SECONDS = 1.0


async def stalled() -> Any:
    """A client that sends no more, and does not leave either."""
    await anyio.sleep_forever()


def trickling(pause_seconds: float, size: int = 1) -> Callable[[], Awaitable[Any]]:
    """A client that sends so many bytes again and again."""

    async def receive() -> Any:
        await anyio.sleep(pause_seconds)
        return {"type": "http.request", "body": b"x" * size, "more_body": True}

    return receive


def body_of(receive: Any, headers: list[tuple[bytes, bytes]], memory: BodyMemory | None = None) -> Body:
    scope = {"headers": headers}
    memory = memory or BodyMemory()
    return Body(scope, receive, limit_bytes=LIMIT_BYTES, timeout_seconds=TIMEOUT_SECONDS, memory=memory)


def refusal(body: Body) -> Refusal:
    with pytest.raises(Refusal) as refused:
        anyio.run(body.read)
    return refused.value


@pytest.mark.parametrize("headers", [CHUNKED, [(b"content-length", b"10")]])
@pytest.mark.parametrize("receive", [stalled, trickling(TIMEOUT_SECONDS / 50)], ids=["stalls", "trickles"])
def test_a_body_that_is_too_slow_is_a_400_and_the_connection_is_closed(headers: Any, receive: Any) -> None:
    refused = refusal(body_of(receive, headers))

    assert (refused.status, refused.headers) == (400, {"Connection": "close"})


def test_a_large_body_has_more_time_than_a_small_one() -> None:
    size, pieces = 4096, 20
    pause = trickling(TIMEOUT_SECONDS / 10, size)
    left = pieces

    async def receive() -> Any:
        nonlocal left
        left -= 1
        return {**await pause(), "more_body": left > 0}

    assert len(anyio.run(body_of(receive, CHUNKED).read)) == size * pieces


def test_a_body_that_never_ends_is_read_only_so_far() -> None:
    assert refusal(body_of(trickling(0, 10_000), CHUNKED)).status == 413


def test_a_declared_length_beyond_the_limit_is_refused_unread() -> None:
    assert refusal(body_of(stalled, [(b"content-length", b"100001")])).status == 413


def test_a_client_that_leaves_is_noted() -> None:
    async def leave() -> Any:
        return {"type": "http.disconnect"}

    body = body_of(leave, CHUNKED)
    with pytest.raises(ClientGone):
        anyio.run(body.read)

    assert body.is_client_gone


def test_what_is_held_is_given_back_though_the_body_was_refused() -> None:
    memory = BodyMemory(limit_bytes=50_000)
    body = body_of(trickling(0, 20_000), CHUNKED, memory)

    refused = refusal(body)
    body.forget()

    assert (refused.status, memory.held_bytes) == (503, 0)


@pytest.mark.together
@pytest.mark.parametrize("path", ["/api/v2/labels.json", "/api/v1/labels.json", "/api/v2/nothing.json"])
@pytest.mark.parametrize("name", ["Content-Encoding", "Transfer-Encoding"])
@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate", "zstd", "identity, gzip", "GZIP"])
def test_an_encoded_body_is_refused(api: Api, path: str, name: str, encoding: str) -> None:
    answer = api.post(path, {"name": "Urgent"}, headers={name: encoding})

    assert (answer.status_code, name in answer.json()["detail"]) == (415, True)
    assert api.get("/api/v2/labels.json").json()["results"] == []


def test_a_body_as_it_is_may_say_so(api: Api) -> None:
    answer = api.post("/api/v2/labels.json", {"name": "Urgent"}, headers={"Content-Encoding": "identity"})

    assert answer.status_code == 201


def checked(path: bytes, query: bytes = b"") -> bytes:
    """The query as the inner layers see it."""
    scope = {"path": path.decode("latin-1"), "raw_path": path, "query_string": query, "headers": []}
    check_url(scope)
    result: bytes = scope["query_string"]
    return result


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (b"a=%", "badly escaped"),
        (b"a=%4", "badly escaped"),
        (b"a=%zz", "badly escaped"),
        (b"a=%00", "NUL"),
        (b"%00=a", "NUL"),
        (b"a=\x00", "NUL"),
        (b"a=%ff", "not valid UTF-8"),
        (b"a=%ed%a0%80", "not valid UTF-8"),
        (b"a=\xff", "not valid UTF-8"),
        (b"a=%c3&b=%a9", "not valid UTF-8"),
    ],
)
def test_a_query_that_is_no_text_is_refused_and_so_is_a_path(query, reason):
    for arguments in ((b"/api/v2/labels.json", query), (b"/api/v2/" + query, b"")):
        with pytest.raises(Refusal, match=reason) as refused:
            checked(*arguments)

        assert refused.value.status == 400


def test_path_and_query_together_have_a_limit():
    path = b"/" + b"p" * 99
    longest = b"a=" + b"x" * (URL_LIMIT_BYTES - 102)

    assert checked(path, longest) == longest
    with pytest.raises(Refusal, match="longer than 8192 bytes"):
        checked(path, longest + b"x")


def test_text_that_a_client_did_not_escape_is_escaped_for_the_inner_layers():
    assert checked(b"/", "name=Café&x=%C3".encode() + b"\xa9") == b"name=Caf%C3%A9&x=%C3%A9"


@given(st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1, max_size=200))
def test_every_text_can_be_asked_for(text):
    query = f"name={quote(text)}".encode()

    assert checked(b"/", query) == query
    assert parse_qs(query.decode())["name"] == [text]
