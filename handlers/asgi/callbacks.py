"""What other systems call to continue a flow that waits for them: `POST /callbacks/TOKEN`, once. Whoever made no such
address, or comes too late, or comes twice, learns the same: that there is nothing.
"""

import re
from functools import partial
from urllib.parse import parse_qsl

import orjson
from starlette.types import ASGIApp, Receive, Scope, Send

from handlers.asgi.plain_responses import PlainResponse, detail_response, header, wrong_method
from handlers.asgi.rate_limiter import Calls, address_of
from handlers.errors import explain_database
from handlers.request import context_of
from handlers.service import Service
from persistence.errors import DatabaseError
from persistence.sessions.callbacks import Address, read_address, receive_callback

PREFIX = "/callbacks/"
SECRET_PLACE = re.compile(rf"\A{PREFIX}.+", re.DOTALL)
METHODS = ("POST",)
MOST_BYTES = 10_000
"""What a result keeps as its `extra`."""
MOST_PAIRS = 100
LANE = "callbacks"
FORM = b"application/x-www-form-urlencoded"
NOTHING_HERE = "There is nothing at this URL."


class Callbacks:
    """ASGI layer for callbacks; other requests go to the inner layer. `calls` counts those of each IP address."""

    def __init__(self, app: ASGIApp, calls: Calls) -> None:
        self.app = app
        self._calls = calls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            await self.app(scope, receive, send)
            return
        page = wrong_method(scope, METHODS) or await self._answer(scope)
        await page.send(send)

    async def _answer(self, scope: Scope) -> PlainResponse:
        context = context_of(scope)
        service = context.service
        self._calls.spend(LANE, address_of(scope))
        address = read_address(scope["path"].removeprefix(PREFIX), service.secret_keys)
        if address is None:
            return detail_response(404, NOTHING_HERE)
        try:
            spend = partial(service.callback_limiter.spend, address.workspace_id, LANE)
            allowance = await service.pool.run(spend, service.limiter)
            if not allowance.is_granted:
                seconds = str(allowance.reset_seconds)
                return detail_response(
                    429, f"Too many calls; try again in {seconds} seconds.", {"Retry-After": seconds}
                )
            body = await context.body.read()
            store = partial(_store, service, address, read_text(header(scope, b"content-type"), body))
            return await service.write_lanes.run(address.workspace_id, service.write_limiter, store)
        except DatabaseError as error:
            return detail_response(*explain_database(error))


def read_text(media_type: bytes | None, body: bytes) -> str:
    """What a call brings, as text without NUL; a form becomes JSON. Many programs say of JSON that it is a form."""
    text = body.decode("utf-8", "replace").replace("\0", "")
    if (media_type or b"").partition(b";")[0].strip().lower() != FORM or text.lstrip().startswith(("{", "[")):
        return text
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_PAIRS)
    except ValueError:
        return text
    return orjson.dumps({name: value.replace("\0", "") for name, value in pairs}).decode()


def hide_token(path: str) -> str:
    """A path for the log, without the token of a callback."""
    return SECRET_PLACE.sub(f"{PREFIX}***", path)


def _store(service: Service, address: Address, text: str) -> PlainResponse:
    is_taken = service.database.write(lambda tx: receive_callback(tx, address, text))
    return PlainResponse(b"", "", 204) if is_taken else detail_response(404, NOTHING_HERE)
