"""Streams and the clients that follow them."""

import logging
from collections.abc import AsyncIterator

import anyio
import pytest

from handlers.asgi.guard import Guard
from handlers.asgi.streams import Stream
from relayboard.base.settings import load_settings
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
