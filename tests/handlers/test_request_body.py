"""Bodies that never end: the service does not wait for ever."""

from typing import Any

import anyio
import pytest

from handlers import request_body
from handlers.refusals import Refusal
from handlers.request_body import read_body

LIMIT_BYTES = 100
CHUNKED = [(b"transfer-encoding", b"chunked")]


async def stalled() -> Any:
    """A client that sends no more, and does not leave either."""
    await anyio.sleep_forever()


async def endless() -> Any:
    """A client that never stops sending."""
    return {"type": "http.request", "body": b"x" * 1_000_000, "more_body": True}


def refusal(receive: Any, headers: list[tuple[bytes, bytes]]) -> Refusal:
    with pytest.raises(Refusal) as refused:
        anyio.run(read_body, {"headers": headers}, receive, LIMIT_BYTES)
    return refused.value


@pytest.mark.parametrize("headers", [CHUNKED, [(b"content-length", b"10")]])
def test_a_body_that_stalls_is_a_400_and_the_connection_is_closed(headers, monkeypatch):
    monkeypatch.setattr(request_body, "READ_TIMEOUT_SECONDS", 0.02)

    refused = refusal(stalled, headers)

    assert (refused.status, refused.headers) == (400, {"Connection": "close"})


def test_a_body_that_never_ends_is_drained_only_so_far(monkeypatch):
    monkeypatch.setattr(request_body, "DRAIN_LIMIT_BYTES", 5_000_000)

    assert refusal(endless, CHUNKED).status == 413


def test_a_refused_body_that_stalls_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(request_body, "DRAIN_TIMEOUT_SECONDS", 0.02)

    assert refusal(stalled, [(b"content-length", b"101")]).status == 413
