"""Test clients that share an event loop: starting one takes longer than most requests."""

import asyncio
import functools
import json
import re
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Message, Scope

from openapi.bundle import bundle

CODED = "/api/v2/"
_ENTERED = ExitStack()
DEFAULT_PORTS = {"http": 80, "https": 443}


@functools.cache
def _portal() -> BlockingPortal:
    """The event loop of this process, in a thread of its own."""
    return _ENTERED.enter_context(start_blocking_portal())


def end_event_loop() -> None:
    """Without this the process would wait for its thread for ever."""
    _ENTERED.close()


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    return _portal().call(asyncio.get_running_loop)


@functools.cache
def known_codes() -> frozenset[str]:
    """The words for programs that the contract lists."""
    described = bundle("v2")["components"]["schemas"]["ErrorCode"]["description"]
    return frozenset(re.findall(r"`([a-z_]+)`", described)) - {"detail", "code", "non_field_errors"}


def take_code(body: bytes) -> tuple[bytes, str]:
    """The body of a refusal of generation 2 without its word for programs, which must be a documented one. So tests
    name what a refusal says for people, and each of them demands the word, which the extensions of the response have.
    """
    said = json.loads(body)
    code: str = said.pop("code")
    assert code in known_codes(), body
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode(), code


class WholeExchange:
    """One request and its response, as messages between a server and an application."""

    def __init__(self, request: httpx.Request) -> None:
        self._request = request
        self._is_asked = False
        self._is_complete = asyncio.Event()
        self._start: Message | None = None
        self._parts: list[bytes] = []

    async def receive(self) -> Message:
        if self._is_asked:
            await self._is_complete.wait()
            return {"type": "http.disconnect"}
        self._is_asked = True
        return {"type": "http.request", "body": self._request.read(), "more_body": False}

    async def send(self, message: Message) -> None:
        assert not self._is_complete.is_set(), f"{message['type']} after the end of the response"
        if message["type"] == "http.response.start":
            assert self._start is None, "a second start of the response"
            self._start = message
            return
        assert message["type"] == "http.response.body", message
        assert self._start is not None, "a body before the start of the response"
        self._parts.append(bytes(message.get("body", b"")))
        if not message.get("more_body", False):
            self._is_complete.set()

    def response(self) -> httpx.Response:
        """The response that was sent, once the application has ended."""
        assert self._start is not None, "the application sent no response"
        assert self._is_complete.is_set(), "the application did not end its response"
        headers = [(name.decode(), value.decode()) for name, value in self._start.get("headers", [])]
        body = b"" if self._request.method == "HEAD" else b"".join(self._parts)
        status, code = self._start["status"], None
        if 400 <= status < 500 and body and self._request.url.path.startswith(CODED):
            body, code = take_code(body)
            headers = [pair for pair in headers if pair[0].lower() != "content-length"]
            headers.append(("content-length", str(len(body))))
        return httpx.Response(
            status, headers=headers, stream=httpx.ByteStream(body), extensions={} if code is None else {"code": code}
        )


class WholeResponses(httpx.BaseTransport):
    """Hands each request to the application and takes its whole response in one visit to the event loop: that of
    Starlette goes there for each part, which takes longer than answering. Raises what the application raises.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.client = ("testclient", 50000)
        self._app = app
        self._running: set[asyncio.Task[None]] = set()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answered: Future[httpx.Response] = Future()
        _loop().call_soon_threadsafe(self._begin, request, answered)
        return answered.result()

    def _begin(self, request: httpx.Request, answered: "Future[httpx.Response]") -> None:
        task = asyncio.create_task(self._answer(request, answered))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _answer(self, request: httpx.Request, answered: "Future[httpx.Response]") -> None:
        exchange = WholeExchange(request)
        try:
            await self._app(_scope(request, self.client), exchange.receive, exchange.send)
            answered.set_result(exchange.response())
        except BaseException as error:  # it is raised where the response is awaited
            answered.set_exception(error)


def _scope(request: httpx.Request, client: tuple[str, int]) -> Scope:
    url = request.url
    raw_path, _, query = url.raw_path.partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": url.scheme,
        "path": url.path,
        "raw_path": raw_path,
        "root_path": "",
        "query_string": query,
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "client": client,
        "server": (url.host, url.port or DEFAULT_PORTS[url.scheme]),
        "state": {},
    }


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
    portal, running = _portal(), running_application(app)
    portal.call(running.__aenter__)
    try:
        client = TestClient(app, base_url=base_url)
        client.portal = portal
        client._transport = WholeResponses(app)
        client._cookies = FewCookies()  # the property would copy them into a plain jar
        yield client
    finally:
        portal.call(running.__aexit__, None, None, None)


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
