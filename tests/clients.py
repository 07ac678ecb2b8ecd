"""Test clients that share an event loop: starting one takes longer than most requests."""

import asyncio
import functools
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal
from starlette.testclient import TestClient

_ENTERED = ExitStack()


@functools.cache
def _portal() -> BlockingPortal:
    """The event loop of this process, in a thread of its own."""
    return _ENTERED.enter_context(start_blocking_portal())


def end_event_loop() -> None:
    """Without this the process would wait for its thread for ever."""
    _ENTERED.close()


class FewCookies(httpx.Cookies):
    """Cookies that look at responses with a cookie only: the standard library takes longer to find none than an
    application to answer.
    """

    def extract_cookies(self, response: httpx.Response) -> None:
        if "set-cookie" in response.headers:
            super().extract_cookies(response)


@contextmanager
def running_client(app: Any, base_url: str = "http://testserver") -> Iterator[TestClient]:
    """A test client of an application that is started, and stopped at the end."""
    with _portal().wrap_async_context_manager(running_application(app)):
        client = TestClient(app, base_url=base_url)
        client.portal = _portal()
        client._cookies = FewCookies()  # the property would copy them into a plain jar
        yield client


@asynccontextmanager
async def running_application(app: Any) -> AsyncIterator[None]:
    """Starts an application as a server does, and stops it at the end."""
    given: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    told: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    life = asyncio.create_task(app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, given.get, told.put))
    for word in ("startup", "shutdown"):
        await given.put({"type": f"lifespan.{word}"})
        telling = asyncio.create_task(told.get())
        await asyncio.wait((telling, life), return_when=asyncio.FIRST_COMPLETED)
        if not telling.done():
            telling.cancel()
            await life
        assert telling.result()["type"] == f"lifespan.{word}.complete"
        if word == "startup":
            yield
    await life
