"""What others call without a token of ours: gateways, and systems for which a flow waits.

Gateways call by GET or POST: `/c/TYPE/<channel uuid>/<secret>/<action>`, read by the channel's type. The usual type has
an older path too, `/handlers/TYPE/<action>/<channel uuid>/<secret>/` (relayer protocol, section 22.2). Instead of the
URL, the header `Authorization: Bearer <secret>` may contain the secret.

Other systems continue a flow by `POST /callbacks/TOKEN`, once. Whoever made no such address, or comes too late, or
comes twice, learns the same: that there is nothing.
"""

import re
import time
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import parse_qsl

import orjson
from starlette.requests import Request as HttpRequest
from starlette.types import ASGIApp, Receive, Scope, Send

from channels.calls import Answer, BadSignature, Callback, Unread
from channels.types import DEFAULT_GATEWAY, GATEWAYS, TYPES
from handlers.asgi.plain_responses import (
    PlainResponse,
    detail_response,
    header,
    json_response,
    unavailable_response,
    wrong_method,
)
from handlers.asgi.rate_limiter import Calls, address_of
from handlers.contract.resolver import stored_root
from handlers.errors import explain_database
from handlers.request import Service, context_of
from persistence.channels.gateway_parts import Told
from persistence.channels.gateway_reports import Gateway, WrongSecret, find_contact, find_gateway, record_events
from persistence.channels.health import ACCEPTED, INWARD, REFUSED_CALL, GatewayCall, record_calls
from persistence.channels.traces import CallSampler, describe_callback
from persistence.database import Transaction
from persistence.errors import DatabaseError, Refused
from persistence.media.incoming import receive_contents
from persistence.media.store import StoreUnavailable, settle_received
from persistence.sessions.parking import Address, read_address, receive_callback

METHODS = ("GET", "POST")
SCOPE_LENGTH = 24
API_PREFIX = "/api/"
PREFIXES = PREFIX, OLDER_PREFIX = "/c/", f"/handlers/{DEFAULT_GATEWAY}/"
PLACES = (
    re.compile(
        PREFIX + r"(?P<code>[a-z0-9_]{1,32})/(?P<uuid>[^/]+)(?:/(?P<secret>[^/]+?))??(?:/(?P<action>[a-z_]{1,15}))?/?\Z"
    ),
    re.compile(OLDER_PREFIX + r"(?P<action>[a-z]+)/(?P<uuid>[^/]+)(?:/(?P<secret>[^/]+))?/?\Z"),
)
"""Actions are shorter than secrets."""
SECRET_PLACE = re.compile(rf"({PREFIX}[^/]*/[^/]*/|{OLDER_PREFIX}[^/]*/[^/]*/)[^/]{{16,}}")
NOTHING = Told("Nothing to do.")
TYPES_BY_CODE = {TYPES[name].code or name: name for name in GATEWAYS}


@dataclass(frozen=True, slots=True)
class Caller:
    """The gateway that a call claims to come from, what it calls for, and the secret it sent."""

    channel_type: str
    channel_uuid: str
    secret: str | None
    action: str

    def find(self, tx: Transaction) -> Gateway:
        """Raises Refused, WrongSecret."""
        return find_gateway(tx, self.channel_type, self.channel_uuid, self.secret)


class GatewayCalls:
    """ASGI layer for the calls of gateways; other requests go to the inner layer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._sampler = CallSampler()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = caller_of(scope) if scope["type"] == "http" else None
        if caller is None:
            await self.app(scope, receive, send)
            return
        refused = wrong_method(scope, METHODS)
        if refused is not None:
            await refused.send(send)
            return
        context = context_of(scope)
        service = context.service
        try:
            admitted = await service.pool.run(partial(admit, service, caller), service.limiter)
            if isinstance(admitted, PlainResponse):
                page = admitted
            else:
                callback = read_callback(scope, service, caller, await context.body.read())
                root = stored_root(service, HttpRequest(scope))
                call = partial(answer, service, caller, admitted, callback, root, self._sampler)
                workspace_id = admitted.source.workspace_id
                page = await service.write_lanes.run(workspace_id, service.write_limiter, call)
        except Refused as error:
            page = detail_response(400, str(error))
        except DatabaseError as error:
            page = detail_response(*explain_database(error))
        except StoreUnavailable as error:
            page = unavailable_response(error)
        await page.send(send)


def caller_of(scope: Scope) -> Caller | None:
    """Who calls; None if the path is that of no channel type."""
    found = next((match for place in PLACES if (match := place.match(scope["path"])) is not None), None)
    if found is None:
        return None
    parts = found.groupdict()
    channel_type = TYPES_BY_CODE.get(parts["code"]) if "code" in parts else DEFAULT_GATEWAY
    if channel_type is None:
        return None
    authorization = (header(scope, b"authorization") or b"").decode("latin-1")
    secret = parts["secret"] or bearer_in(authorization)
    return Caller(channel_type, parts["uuid"], secret, parts["action"] or "")


def bearer_in(authorization: str) -> str | None:
    """The secret of an Authorization header `Bearer <secret>`."""
    scheme, _, secret = authorization.strip().partition(" ")
    return secret.strip() or None if scheme.lower() == "bearer" else None


def admit(service: Service, caller: Caller) -> PlainResponse | Gateway:
    """The gateway of a call, or the response to one that is not allowed, decided before its body is read. Raises
    Refused. Calls without the secret do not count towards the limit: strangers must not block the gateway.
    """
    try:
        with service.database.reading() as tx:
            gateway = caller.find(tx)
    except WrongSecret as error:
        return _ask_for_secret(error)
    source = gateway.source
    allowance = service.callback_limiter.spend(source.workspace_id, f"callback{source.id}"[:SCOPE_LENGTH])
    if allowance.is_granted:
        return gateway
    seconds = str(allowance.reset_seconds)
    return detail_response(429, f"Too many calls; try again in {seconds} seconds.", {"Retry-After": seconds})


def read_callback(scope: Scope, service: Service, caller: Caller, body: bytes) -> Callback:
    """The call as the channel's type reads it. Its URL is the public one, which some providers sign."""
    path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1").partition("?")[0]
    query = scope["query_string"].decode("latin-1")
    return Callback(
        now=service.database.clock(),
        method=scope["method"],
        url=public_root(scope, service) + path + (f"?{query}" if query else ""),
        action=caller.action,
        headers={name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]},
        body=body,
        secret=caller.secret or "",
    )


def public_root(scope: Scope, service: Service) -> str:
    """The URL of the service: the setting, otherwise the one that was called."""
    host = (header(scope, b"host") or b"localhost").decode("latin-1")
    return service.settings.base_url.rstrip("/") or f"{scope['scheme']}://{host}"


def answer(
    service: Service, caller: Caller, gateway: Gateway, callback: Callback, root: str, sampler: CallSampler
) -> PlainResponse:
    """Reads a callback and carries out what it says; runs in a database thread. `root` begins the URLs of files. The
    owner of the channel finds the call in the log: with what it did, or alone if it was refused."""
    trace, quota_bytes = Trace(gateway, callback, sampler), service.settings.media_quota_bytes

    def record(tx: Transaction) -> PlainResponse:
        told = record_events(tx, caller.find(tx), received, root, quota_bytes) if received else NOTHING
        page = json_response({"detail": told.text}) if heard.answer is None else _page(heard.answer)
        trace.write(tx, page, told)
        return page

    try:
        events = TYPES[caller.channel_type].events
        if events is None:
            raise Refused("Channels of this type are not called.")
        heard = events(callback, gateway.config)
        received, files = receive_contents(service.media_store, heard.events)
        page = service.database.write(record)
        for each in files:
            settle_received(service.database, service.media_store, each)
        return page
    except WrongSecret as error:  # the secret was changed in the meantime
        return _ask_for_secret(error)
    except (Refused, Unread) as error:
        page, reason = detail_response(400, str(error)), str(error)
    except BadSignature as error:
        reason = str(error) or "The signature is wrong."
        page = detail_response(403, reason)
    service.database.write(lambda tx: trace.write(tx, page, error=reason))
    return page


@dataclass(frozen=True, slots=True)
class Trace:
    """What the owner of a channel sees of a call of its gateway, if it is one of those that are kept."""

    gateway: Gateway
    callback: Callback
    sampler: CallSampler
    began: float = field(default_factory=time.monotonic)

    def write(self, tx: Transaction, page: PlainResponse, told: Told = NOTHING, error: str | None = None) -> None:
        """In the unit of work of what the call did, or in one of its own."""
        source, outcome = self.gateway.source, ACCEPTED if error is None else REFUSED_CALL
        if not self.sampler.takes(source.id, outcome):
            return
        contact_id = None if told.message_id is None else find_contact(tx, self.gateway, told.message_id)
        said = (page.status, page.body)
        call = GatewayCall(
            workspace_id=source.workspace_id,
            channel_id=source.id,
            contact_id=contact_id or 0,
            message_id=told.message_id or 0,
            part=0,
            outcome=outcome,
            duration_ms=round((time.monotonic() - self.began) * 1000),
            direction=INWARD,
            result=told.text if error is None else None,
            **describe_callback(self.gateway.channel_type, self.gateway.config, self.callback, said, error),
        )
        record_calls(tx, [call])


def _page(given: Answer) -> PlainResponse:
    return PlainResponse(given.body.encode(), given.content_type, given.status)


def _ask_for_secret(error: WrongSecret) -> PlainResponse:
    return detail_response(401, str(error), {"WWW-Authenticate": "Bearer"})


def hide_secret(path: str) -> str:
    """A path for the log, without the secret of a gateway."""
    return path if path.startswith(API_PREFIX) else SECRET_PLACE.sub(r"\1***", path)


CALLBACK_PREFIX = "/callbacks/"
CALLBACK_SECRET = re.compile(rf"\A{CALLBACK_PREFIX}.+", re.DOTALL)
CALLBACK_METHODS = ("POST",)
CALLBACK_BYTES = 10_000
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
        if scope["type"] != "http" or not scope["path"].startswith(CALLBACK_PREFIX):
            await self.app(scope, receive, send)
            return
        page = wrong_method(scope, CALLBACK_METHODS) or await self._answer(scope)
        await page.send(send)

    async def _answer(self, scope: Scope) -> PlainResponse:
        context = context_of(scope)
        service = context.service
        self._calls.spend(LANE, address_of(scope))
        address = read_address(scope["path"].removeprefix(CALLBACK_PREFIX), service.secret_keys)
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
    return CALLBACK_SECRET.sub(f"{CALLBACK_PREFIX}***", path)


def _store(service: Service, address: Address, text: str) -> PlainResponse:
    is_taken = service.database.write(lambda tx: receive_callback(tx, address, text))
    return PlainResponse(b"", "", 204) if is_taken else detail_response(404, NOTHING_HERE)
