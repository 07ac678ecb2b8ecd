"""What the widget of a chat on people's sites loads and calls, at `/chat/` (`channels/webchat/`). Only sites that the
channel names may call it from a browser. A visitor is who has the token, `Authorization: Bearer CODE.TOKEN`; there are
no cookies.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import anyio.to_thread
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from channels.chats import allowed_origins, colour_of
from handlers.asgi.console import File, packed
from handlers.asgi.plain_responses import (
    PlainResponse,
    Refusal,
    Stream,
    accepts_gzip,
    detail_response,
    header,
    json_response,
    wrong_method,
)
from handlers.asgi.request_body import check_form_type, check_json_type
from handlers.asgi.strict_json import StrictJsonError, parse_strict
from handlers.asgi.uploads import Upload, describe_upload, in_threads, receive_upload
from handlers.contract.resolver import stored_root
from handlers.errors import explain_database
from handlers.listeners import MOST_CHANGES, read_position
from handlers.request import context_of
from handlers.service import Service
from persistence.channels.visitors import (
    KEY_LENGTH,
    MOST_ACKNOWLEDGED,
    NAME_LENGTH,
    Blocked,
    Chat,
    Visitor,
    acknowledge,
    begin_visit,
    find_chat,
    find_visitor,
    has_received,
    list_messages,
    read_visitor_changes,
    receive,
)
from persistence.database import Transaction
from persistence.errors import DatabaseError, InvalidInput, RuleBroken, has_broken
from persistence.media.store import StoreUnavailable, add_media
from persistence.relayers.commands import TEXT_LENGTH
from persistence.sql.columns import new_uuid, time_text
from persistence.stream import read_clocks
from persistence.tokens import take_allowance
from persistence.workspaces.records import Workspace, find_workspace

PREFIX = "/chat/"
WIDGET = "/chat/widget.js"
PLACE = re.compile(r"/chat/(?P<uuid>[0-9a-f-]{36})(?:/(?P<what>[a-z]+))?\Z")
TOKEN = re.compile(r"Bearer (?P<code>[A-Za-z0-9]{24})\.(?P<token>[A-Za-z0-9_-]{20,64})\Z")
KEY = re.compile(rf"[A-Za-z0-9-]{{1,{KEY_LENGTH}}}\Z")
WIDGET_FILE = Path(__file__).with_name("webchat_files") / "widget.js"
WIDGET_HEADERS = {"Cache-Control": "public, max-age=300", "Cross-Origin-Resource-Policy": "cross-origin"}
PREFLIGHT_SECONDS = "600"
ADDRESS_FACTOR = 10
"""How many times the messages of one visitor an address may send: an office is one address."""
BODY_BYTES = 64 * 1024
EVENT_STREAM = "text/event-stream"
LAST_ID_LENGTH = 64
ID_LENGTH = 36
EMAIL_LENGTH = 200

Result = TypeVar("Result")


class TooManyMessages(Exception):
    """A visitor or an address has used its limit; it may go on after `seconds`."""

    def __init__(self, seconds: int) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class NotAVisitor(Exception):
    """The request has no token of a visitor of this chat."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request for one chat: `address` is the client's, `authorization` the header with the visitor's token, `origin`
    the site whose page sent it, if the browser said so. A program that is no browser can say anything: the origin
    protects visitors, the token the conversation.
    """

    service: Service
    uuid: str
    method: str
    origin: str | None
    authorization: str
    address: str
    query: Mapping[str, str]
    root: str

    def chat(self, tx: Transaction) -> Chat:
        """Raises Refusal: 404, 403."""
        found = find_chat(tx, self.uuid)
        if found is None:
            raise Refusal(404, "There is no such chat.")
        if self.origin is not None and self.origin not in allowed_origins(found.config):
            raise Refusal(403, "This site may not show this chat.")
        return found

    def visitor(self, tx: Transaction, chat: Chat) -> Visitor:
        """Raises NotAVisitor."""
        found = TOKEN.match(self.authorization)
        visitor = find_visitor(tx, chat, found["code"], found["token"]) if found else None
        if visitor is None:
            raise NotAVisitor
        return visitor

    def spend(self, tx: Transaction, chat: Chat, scope: str, factor: int = 1) -> None:
        """Counts a message or a visit. Raises TooManyMessages."""
        limit = self.service.settings.visitor_limit
        granted, _, ends_on = take_allowance(
            tx, chat.source.workspace_id, scope, limit=factor * limit.requests, period=limit.period, wanted=1
        )
        if not granted:
            raise TooManyMessages(int((ends_on - tx.now).total_seconds()) + 1)

    def scope_of_address(self, chat: Chat, what: str) -> str:
        """The window in which an address counts for a chat; of the address there is only a hash."""
        told = f"{what} {chat.source.id} {self.address}"
        return what[0] + hashlib.sha256(told.encode()).hexdigest()[:22]


class WebChat:
    """ASGI layer for the widget and its calls; other requests go to the inner layer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or not path.startswith(PREFIX):
            await self.app(scope, receive, send)
            return
        if path == WIDGET:
            await (wrong_method(scope) or await answer_widget(scope)).send(send)
            return
        found = PLACE.match(path)
        if found is None or (found["what"] or "") not in ANSWERS:
            await detail_response(404, "There is nothing at this URL.").send(send)
            return
        call = _call(scope, found["uuid"])
        page: PlainResponse | Stream
        try:
            page = await self._answer(scope, call, found["what"] or "")
        except Refusal as refusal:
            page = detail_response(refusal.status, refusal.text, refusal.headers)
            if refusal.status in (403, 404):
                await page.send(send)  # without headers for other origins: the page there learns nothing
                return
        await _shared(page, call.origin)(scope, receive, send)

    async def _answer(self, scope: Scope, call: Call, what: str) -> PlainResponse | Stream:
        """Raises Refusal."""
        chat = await _read(call, call.chat)
        if call.method == "OPTIONS":
            return PlainResponse(b"", "", 204, _preflight(what))
        method, answer = ANSWERS[what] if call.method != "GET" or what != MESSAGES else ("GET", answer_list)
        refused = wrong_method(scope, ("GET", "POST") if what == MESSAGES else (method,))
        if refused is not None:
            return refused
        if call.method == "POST" and call.origin is None:
            raise Refusal(403, "This site may not show this chat.")
        try:
            return await answer(call, chat, scope)
        except NotAVisitor:
            return detail_response(401, "This is not the token of a visitor.", {"WWW-Authenticate": "Bearer"})
        except TooManyMessages as error:
            return detail_response(429, "Too many messages; try again later.", {"Retry-After": str(error.seconds)})
        except Blocked:
            return detail_response(409, "Nobody reads what is written here.")
        except InvalidInput as error:
            return json_response(error.errors, 400)
        except RuleBroken as error:
            return detail_response(400, str(error))
        except StoreUnavailable:
            return detail_response(503, "Files cannot be stored; try again.", {"Retry-After": "5"})
        except DatabaseError as error:
            return detail_response(*explain_database(error))


def _call(scope: Scope, uuid: str) -> Call:
    http = Request(scope)
    service = context_of(scope).service
    return Call(
        service=service,
        uuid=uuid,
        method=scope["method"],
        origin=http.headers.get("Origin"),
        authorization=http.headers.get("Authorization", ""),
        address=http.client.host if http.client else "",
        query=dict(http.query_params),
        root=stored_root(service, http),
    )


def _shared(page: PlainResponse | Stream, origin: str | None) -> PlainResponse | Stream:
    """The response for the page of an allowed origin. It depends on who asks."""
    shared = {"Vary": "Origin"}
    if origin is not None:
        shared |= {"Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": "Retry-After"}
    if isinstance(page, Stream):
        page.headers.update(shared)
        return page
    return replace(page, headers={**page.headers, **shared})


def _preflight(what: str) -> dict[str, str]:
    methods = "GET, POST" if what == MESSAGES else ANSWERS[what][0]
    return {
        "Access-Control-Allow-Methods": methods,
        "Access-Control-Allow-Headers": "Authorization, Content-Type, Last-Event-ID",
        "Access-Control-Max-Age": PREFLIGHT_SECONDS,
    }


async def _read(call: Call, work: Callable[[Transaction], Result]) -> Result:
    """Runs work in a transaction that reads."""

    def run() -> Result:
        with call.service.database.reading() as tx:
            return work(tx)

    return await call.service.pool.run(run, call.service.limiter)


async def _write(call: Call, chat: Chat, work: Callable[[Transaction], Result]) -> Result:
    """Runs work in a transaction that writes, in the lane of the chat's workspace."""
    service = call.service
    lane = chat.source.workspace_id
    return await service.write_lanes.run(lane, service.write_limiter, lambda: service.database.write(work))


async def _count(call: Call, chat: Chat) -> None:
    """Requests that write count as the calls of a gateway. Raises Refusal."""
    spend = partial(call.service.callback_limiter.spend, chat.source.workspace_id, f"callback{chat.source.id}")
    allowance = await call.service.pool.run(spend, call.service.limiter)
    if not allowance.is_granted:
        raise Refusal(429, "Too many calls; try again later.", {"Retry-After": str(allowance.reset_seconds)})


async def _body(scope: Scope) -> dict[str, Any]:
    """The JSON object of a request. Raises Refusal."""
    raw = await context_of(scope).body.read()
    if len(raw) > BODY_BYTES:
        raise Refusal(413, f"The request body is larger than {BODY_BYTES} bytes.")
    check_json_type(header(scope, b"content-type"), has_body=bool(raw))
    try:
        value = parse_strict(raw)
    except StrictJsonError as error:
        raise Refusal(400, str(error)) from error
    if not isinstance(value, dict):
        raise Refusal(400, "Send a JSON object.")
    return value


def _text(body: Mapping[str, Any], name: str, length: int) -> str:
    """Raises InvalidInput."""
    value = body.get(name, "")
    if not isinstance(value, str) or len(value) > length:
        raise InvalidInput.on(name, f"A text of at most {length} characters.")
    return value.strip()


def _key(value: object) -> str:
    """Raises InvalidInput."""
    if not isinstance(value, str) or not KEY.match(value):
        raise InvalidInput.on("key", f"Up to {KEY_LENGTH} letters, digits and hyphens, another for each message.")
    return value


async def answer_settings(call: Call, chat: Chat, _scope: Scope) -> PlainResponse:
    config = chat.config
    return json_response(
        {
            "title": config.get("title") or chat.name,
            "greeting": config.get("greeting") or "",
            "colour": colour_of(config),
            "asks_name": bool(config.get("asks_name")),
            "asks_email": bool(config.get("asks_email")),
            "takes_files": bool(config.get("takes_files")),
        }
    )


async def answer_visit(call: Call, chat: Chat, scope: Scope) -> PlainResponse:
    body = await _body(scope)
    name, email = _text(body, "name", NAME_LENGTH), _text(body, "email", EMAIL_LENGTH)
    await _count(call, chat)

    def begin(tx: Transaction) -> tuple[str, str]:
        call.spend(tx, chat, call.scope_of_address(chat, "visits"))
        return begin_visit(tx, chat, name, email)

    code, token = await _write(call, chat, begin)
    return json_response({"visitor": code, "token": f"{code}.{token}"}, 201)


async def answer_message(call: Call, chat: Chat, scope: Scope) -> PlainResponse:
    body = await _body(scope)
    key, text = _key(body.get("key")), _text(body, "text", TEXT_LENGTH)
    if not text:
        raise InvalidInput.on("text", "A value is required.")
    await _count(call, chat)
    return json_response(await _write(call, chat, partial(_store, call, chat, key, text)), 201)


def _store(
    call: Call, chat: Chat, key: str, text: str, tx: Transaction, files: tuple[dict[str, str], ...] = ()
) -> dict[str, Any]:
    visitor = call.visitor(tx, chat)
    if not has_received(tx, chat, visitor, key):
        call.spend(tx, chat, f"visitor{visitor.id}")
        call.spend(tx, chat, call.scope_of_address(chat, "messages"), ADDRESS_FACTOR)
    return receive(tx, chat, visitor, key, text, files)


async def answer_file(call: Call, chat: Chat, scope: Scope) -> PlainResponse:
    """A file as a message of its own; a repeat keeps no second one."""
    key, service, context = _key(call.query.get("key")), call.service, context_of(scope)
    await _count(call, chat)
    if not chat.config.get("takes_files"):
        raise Refusal(400, "This chat takes no files.")
    await _read(call, lambda tx: call.visitor(tx, chat))
    workspace = await _read(call, partial(_workspace_of, chat))
    form_type, uuid = check_form_type(header(scope, b"content-type")), new_uuid()
    with service.uploads.take(workspace.id):
        context.closing.push_async_callback(context.discard_upload, uuid)
        async with in_threads(service.media_store.receiving(uuid)) as file:
            upload = await receive_upload(context.body, form_type, file, uuid)
        try:
            shown, is_new = await _write(call, chat, partial(_store_file, call, chat, workspace, key, upload))
        except DatabaseError as error:
            context.upload_is_needed = has_broken(error)
            raise
        context.upload_is_needed = is_new
        if is_new and upload.place is not None:
            await anyio.to_thread.run_sync(service.media_store.accept, uuid, upload.place)
    return json_response(shown, 201)


def _store_file(
    call: Call, chat: Chat, workspace: Workspace, key: str, upload: Upload, tx: Transaction
) -> tuple[dict[str, Any], bool]:
    is_new = not has_received(tx, chat, call.visitor(tx, chat), key)
    file = describe_upload(upload, workspace.uuid, call.root)
    if is_new:
        quota_bytes = call.service.settings.media_quota_bytes
        add_media(tx, workspace.id, upload.uuid, size=upload.size, quota_bytes=quota_bytes, **file)
    attachment = {"content_type": file["content_type"], "url": file["url"]}
    return _store(call, chat, key, "", tx, (attachment,)), is_new


def _workspace_of(chat: Chat, tx: Transaction) -> Workspace:
    found = find_workspace(tx, chat.source.workspace_id)
    if found is None:
        raise Refusal(404, "There is no such chat.")
    return found


async def answer_list(call: Call, chat: Chat, _scope: Scope) -> PlainResponse:
    return json_response(await _read(call, partial(_list, call, chat)))


def _list(call: Call, chat: Chat, tx: Transaction) -> dict[str, Any]:
    """The latest messages, those before one, or those that changed after a position. Whoever follows the stream from
    the `position`, or asks again with it, misses nothing. `is_whole` says that these are the latest messages, whatever
    was asked for.
    """
    visitor = call.visitor(tx, chat)
    workspace = _workspace_of(chat, tx)
    clock = read_clocks(tx, [workspace.id]).get(workspace.id, tx.now)
    asked = read_position(call.query.get("after", "")[:LAST_ID_LENGTH], clock)
    changes = None if asked is None else read_visitor_changes(tx, workspace, asked, clock, MOST_CHANGES)
    if changes is not None:
        theirs = [each.record for each in changes if each.right == visitor.listens_to(chat)]
        results, has_more = [parse_strict(each.encode()) for each in theirs], False
    else:
        results, has_more = list_messages(tx, chat, visitor, call.query.get("before"))
    return {
        "results": results,
        "has_more": has_more,
        "is_whole": changes is None,
        "position": time_text(clock),
    }


async def answer_acknowledgement(call: Call, chat: Chat, scope: Scope) -> PlainResponse:
    body = await _body(scope)
    delivered, read = _ids(body, "delivered"), _ids(body, "read")
    await _count(call, chat)
    await _write(call, chat, lambda tx: acknowledge(tx, chat, call.visitor(tx, chat), delivered, read))
    return PlainResponse(b"", "", 204)


def _ids(body: Mapping[str, Any], name: str) -> list[str]:
    """Raises InvalidInput."""
    value = body.get(name, [])
    if not isinstance(value, list) or len(value) > MOST_ACKNOWLEDGED:
        raise InvalidInput.on(name, f"A list of at most {MOST_ACKNOWLEDGED} messages.")
    if any(not isinstance(each, str) or len(each) > ID_LENGTH for each in value):
        raise InvalidInput.on(name, "A list of the ids of messages.")
    return value


async def answer_stream(call: Call, chat: Chat, scope: Scope) -> Stream:
    """Raises Refusal: 429 if too many visitors follow; they ask again and again then."""
    last_id = (header(scope, b"last-event-id") or b"").decode("latin-1")[:LAST_ID_LENGTH] or None

    def find(tx: Transaction) -> tuple[Workspace, str]:
        return _workspace_of(chat, tx), call.visitor(tx, chat).listens_to(chat)

    workspace, right = await _read(call, find)
    events = call.service.visitors.open(workspace, [right], last_id)
    return Stream(events, 200, {"X-Accel-Buffering": "no", "Cache-Control": "no-store"}, media_type=EVENT_STREAM)


MESSAGES = "messages"
ANSWERS: Mapping[str, tuple[str, Callable[..., Any]]] = {
    "": ("GET", answer_settings),
    "visits": ("POST", answer_visit),
    MESSAGES: ("POST", answer_message),
    "files": ("POST", answer_file),
    "acknowledgements": ("POST", answer_acknowledgement),
    "stream": ("GET", answer_stream),
}


async def answer_widget(scope: Scope) -> PlainResponse:
    file = await anyio.to_thread.run_sync(_widget)
    wanted = (header(scope, b"accept-encoding") or b"").decode("latin-1")
    found = file.compressed if file.compressed and accepts_gzip(wanted) else file.plain
    known = (header(scope, b"if-none-match") or b"").decode("latin-1")
    if found.headers["ETag"] in {tag.strip().removeprefix("W/") for tag in known.split(",")}:
        return PlainResponse(b"", "", 304, found.headers)
    return found


@cache
def _widget() -> File:
    return packed(WIDGET_FILE.read_bytes(), "text/javascript; charset=utf-8", WIDGET_HEADERS)
