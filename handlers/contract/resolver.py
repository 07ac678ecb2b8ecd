"""Calls the handler of an operation of the contract, inside one transaction."""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import anyio.to_thread
import orjson
from connexion.exceptions import OAuthProblem
from connexion.resolver import Resolver
from starlette.requests import Request as HttpRequest
from starlette.types import ASGIApp, Receive, Scope

from handlers.answers import Answer, HeldAnswer, Rehearsed, etag_of, pick
from handlers.asgi.plain_responses import LEAST_BYTES, PlainResponse, Stream, accepts_gzip, compress, compressed
from handlers.asgi.request_body import KNOWN_COOKIE, check_origin, cookie_in
from handlers.contract.operations import (
    EVENT_STREAM,
    FIELDS,
    OperationRules,
    check_action,
    load_contract,
    only_reads,
)
from handlers.contract.routing import read_json
from handlers.request import (
    PAGE_OPTIONS,
    ChatCaller,
    ChatRequest,
    PageOptions,
    PersonRequest,
    RelayRequest,
    Request,
    RequestContext,
    Service,
    actor_of,
    context_of,
)
from persistence.accounts.sign_ins import Browser
from persistence.audit import Witness
from persistence.channels.visitors import find_visitor
from persistence.database import Database, Transaction
from persistence.errors import DatabaseError, Refused, has_broken
from persistence.relayers.commands import read_integer
from persistence.tables.service import KEY_LENGTH
from persistence.tokens import claim_key, keep_answer
from persistence.workspaces.records import Workspace, find_workspace, hold_workspace

IF_MATCH_LENGTH = 1000
SLOW_TIMEOUT_SECONDS = 15.0
"""For each statement of a request that is known to be slow."""
STREAM_HEADERS = {"X-Accel-Buffering": "no", "Cache-Control": "no-store"}
LAST_ID_LENGTH = 64
PHONE = "relayer_id"
"""The part of a path that is the id of a phone."""
USUAL_PORTS = {"http": 80, "https": 443}


class HandlerResolver(Resolver):
    """Finds `handlers.<generation>.<first tag>.<operationId>` and wraps it as an endpoint."""

    def __init__(self, generation: str) -> None:
        super().__init__(self._endpoint)
        self.generation = generation
        self._names = {name.rpartition(".")[2]: name for name in load_contract(generation)}

    def resolve_operation_id(self, operation: Any) -> str:
        return self._names[operation.operation_id]

    def _endpoint(self, operation_id: str) -> Callable[..., Awaitable[ASGIApp]]:
        rules = load_contract(self.generation)[operation_id]
        return make_endpoint(rules)


def make_endpoint(rules: OperationRules) -> Callable[[Scope, Receive], Awaitable[ASGIApp]]:
    """The endpoint of an operation: runs the handler in a database thread and renders its response."""

    async def endpoint(scope: Scope, receive: Receive) -> ASGIApp:
        http = HttpRequest(scope, receive)
        context = context_of(http.scope)
        if rules.is_writing and context.raw_body is None and not rules.is_upload:
            await read_json(http.scope)  # no validator has read it if the contract has no body; it must be JSON anyway
        if rules.generation == "chat":
            return await _answer_visitor(rules, http, context)
        if rules.is_stream:
            await _note_follower(context)
            return _open_stream(rules, http, context)
        if rules.generation == "relay":
            return render(await _answer_phone(rules, http, context), context.rate_limits)
        answer = await _run_in_thread(rules, http, context)
        await _accept_upload(context)
        if rules.has_etag and not answer.is_list and answer.body is not None and FIELDS not in context.query:
            answer = replace(answer, headers={**(answer.headers or {}), "ETag": etag_of(answer.body)})
        encodings = http.headers.get("Accept-Encoding", "") if answer.is_list else None
        return render(answer, context.rate_limits, encodings)

    return endpoint


def _open_stream(rules: OperationRules, http: HttpRequest, context: RequestContext) -> ASGIApp:
    """A response that goes on for a while; proxies are asked not to hold it back."""
    events = rules.function(context.service, context.credentials, http.headers.get("Last-Event-ID"))
    headers = {**context.rate_limits, **STREAM_HEADERS, "Vary": "Accept-Encoding"}
    if accepts_gzip(http.headers.get("Accept-Encoding", "")):
        events, headers = compressed(events), {**headers, "Content-Encoding": "gzip"}
    return Stream(events, 200, headers, media_type=EVENT_STREAM)


async def _answer_visitor(rules: OperationRules, http: HttpRequest, context: RequestContext) -> ASGIApp:
    """The answer to a page with a chat, which the layer of chats let in."""
    service, caller = context.service, context.caller
    assert caller is not None

    def read() -> Answer | Workspace:
        with service.database.reading() as tx:
            return _workspace_of(tx, caller) if rules.is_stream else _call_chat(tx, rules, http, context, caller)

    if not rules.is_writing:
        found = await service.pool.run(read, service.limiter)
        if isinstance(found, Answer):
            return render(found, {})
        last_id = http.headers.get("Last-Event-ID") or None
        if last_id is not None and len(last_id) > LAST_ID_LENGTH:
            raise Refused(f"A Last-Event-ID has at most {LAST_ID_LENGTH} characters.")
        events = rules.function(service.visitors, found, caller.chat, caller.visitor, caller.address, last_id)
        return Stream(events, 200, STREAM_HEADERS, media_type=EVENT_STREAM)

    def write() -> Answer:
        try:
            answer = service.database.write(lambda tx: _call_chat(tx, rules, http, context, caller))
        except DatabaseError as error:
            context.upload_is_needed = has_broken(error)
            raise
        context.upload_is_needed = context.upload is not None and context.upload.place is not None
        return answer

    answer = await service.write_lanes.run(context.workspace_id, service.write_limiter, write)
    await _accept_upload(context)
    return render(answer, {})


def _call_chat(
    tx: Transaction, rules: OperationRules, http: HttpRequest, context: RequestContext, caller: ChatCaller
) -> Answer:
    """Runs the handler. Who writes is looked up in the transaction: its contact may have been deleted meanwhile."""
    visitor = caller.visitor
    if rules.is_writing and visitor is not None and caller.token is not None:
        visitor = find_visitor(tx, caller.chat, *caller.token)
        if visitor is None:
            raise OAuthProblem
    if context.upload is not None:
        context.upload.place = None  # a previous attempt may have set it
    request = ChatRequest(
        tx=tx,
        settings=context.service.settings,
        chat=caller.chat,
        visitor=visitor,
        workspace=_workspace_of(tx, caller),
        address=caller.address,
        stored_root=stored_root(context.service, http),
        body=context.json or {},
        media=context.upload,
    )
    answer: Answer = rules.function(request, **context.query)
    return answer


def _workspace_of(tx: Transaction, caller: ChatCaller) -> Workspace:
    found = find_workspace(tx, caller.chat.source.workspace_id)
    assert found is not None, "a channel has its workspace"
    return found


async def _answer_phone(rules: OperationRules, http: HttpRequest, context: RequestContext) -> Answer:
    """The answer to a phone. One that waits has no thread meanwhile, and its lane serves others."""
    service = context.service
    lanes, limiter, phone = service.write_lanes, service.write_limiter, _phone_of(http)
    with service.held_syncs.place() as place:
        run = partial(_run_relay, rules, http, context, phone, place.take)
        answer = await lanes.run(lanes.owner_of(phone), limiter, run)
        if not isinstance(answer, HeldAnswer):
            return answer
        began = time.perf_counter()
        try:
            await service.held_syncs.wait(answer.awaited, context.body.until_gone)
        finally:
            context.held_seconds = time.perf_counter() - began
    return await lanes.run(lanes.owner_of(phone), limiter, answer.finish)


def _phone_of(http: HttpRequest) -> str:
    """The phone that sends a request, however its id is written: as another phone it would not wait for its workspace's
    lane."""
    return str(read_integer(http.path_params[PHONE])) if PHONE in http.path_params else ""


async def _run_in_thread(rules: OperationRules, http: HttpRequest, context: RequestContext) -> Answer:
    service = context.service
    if rules.runs_itself:
        return await service.pool.run(partial(_run_itself, rules, http, context), service.password_limiter)
    workspace_id = context.credentials.workspace.id
    if not only_reads(rules, context.json):
        return await service.write_lanes.run(workspace_id, service.write_limiter, lambda: _run(rules, http, context))
    return await service.lanes.run(
        workspace_id,
        rules.id,
        context.query,
        service.limiter,
        lambda is_slow: _run(rules, http, context, is_slow=is_slow),
    )


def render(answer: Answer, rate_limits: Mapping[str, str], encodings: str | None = None) -> PlainResponse:
    """The response; `encodings` is the Accept-Encoding header of a client that gets a list, which may be compressed."""
    headers = {**rate_limits, **(answer.headers or {})}
    body = answer.body.encode() if isinstance(answer.body, str) else answer.body
    if encodings is not None:
        headers["Vary"] = "Accept-Encoding"
        if body is not None and len(body) >= LEAST_BYTES and accepts_gzip(encodings):
            body = compress(body)
            headers["Content-Encoding"] = "gzip"
    media_type = answer.media_type if body is not None else ""
    return PlainResponse(body or b"", media_type, answer.status, headers, answer.cookies)


def _run(rules: OperationRules, http: HttpRequest, context: RequestContext, *, is_slow: bool = False) -> Answer:
    """Run the handler; a write that lost a race is run again on the new state."""
    service = context.service
    if only_reads(rules, context.json) and not rules.tells_reading:
        check_action(context.credentials, rules, context.json)
        _key_of(rules, http)
        return _read(rules, http, context, is_slow=is_slow)
    try:
        answer = service.database.write(lambda tx: _answer_once(tx, rules, http, context))
    except Rehearsed as rehearsed:
        return rehearsed.answer
    except DatabaseError as error:
        context.upload_is_needed = has_broken(error)
        raise
    if service.standby is not None:
        service.standby.note_write(context.credentials.token_id)
    if rules.changes_credentials:
        service.forget_workspace(context.credentials.workspace.id)
    context.upload_is_needed = context.upload is not None and context.upload.place is not None
    return answer


def _read(rules: OperationRules, http: HttpRequest, context: RequestContext, *, is_slow: bool) -> Answer:
    """Run a handler that only reads, on the standby if that may serve the token."""
    standby, primary = context.service.standby, context.service.database

    def answer(database: Database) -> Answer:
        with database.reading_snapshot(SLOW_TIMEOUT_SECONDS) if is_slow else database.reading() as tx:
            return _call_handler(tx, rules, http, context)

    if standby is None or not standby.may_serve(context.credentials.token_id):
        return answer(primary)
    try:
        return answer(standby.database)
    except DatabaseError as error:
        if not standby.give_up(error):
            raise
        return answer(primary)


async def _note_follower(context: RequestContext) -> None:
    service = context.service
    if service.standby is not None:
        note, token_id = service.standby.note_follower, context.credentials.token_id
        await service.pool.run(partial(note, token_id, service.settings.stream_seconds), service.limiter)


async def _accept_upload(context: RequestContext) -> None:
    """Gives the file that a handler keeps its final name, in no thread of the database: a bucket may be slow."""
    upload = context.upload
    if upload is not None and upload.place is not None:
        await anyio.to_thread.run_sync(context.service.media_store.accept, upload.uuid, upload.place)


def _answer_once(tx: Transaction, rules: OperationRules, http: HttpRequest, context: RequestContext) -> Answer:
    check_action(context.credentials, rules, context.json)
    workspace_id = context.credentials.workspace.id
    tx.witness = Witness(actor_of(context.credentials, http.client.host if http.client else None))
    if rules.is_setting_up:
        hold_workspace(tx, workspace_id)
    if context.upload is not None:
        context.upload.place = None  # a previous attempt may have set it
    key, if_match = _key_of(rules, http), _if_match_of(rules, http)
    if key is None:
        return _call_handler(tx, rules, http, context, if_match)
    asked = http.scope["query_string"] + b"\n" + _said(context)
    who = context.credentials
    if who.role == "agent" or who.areas is not None:
        # They may see less of a record than those whose answer was kept.
        asked = " ".join((who.role, *(who.areas or ()))).encode() + b"\n" + asked
    kept = claim_key(tx, workspace_id, rules.id, key, asked)
    if kept is not None:
        return Answer(kept.status, kept.body, {"Idempotency-Replayed": "true"})
    answer = _call_handler(tx, rules, http, context, if_match)
    body = answer.body.decode() if isinstance(answer.body, bytes) else answer.body
    keep_answer(tx, workspace_id, rules.id, key, answer.status, body)
    return answer


def _key_of(rules: OperationRules, http: HttpRequest) -> str | None:
    """The key under which the answer is kept. A dry run has the same rule for it, and keeps none. Raises Refused."""
    key: str | None = http.headers.get("Idempotency-Key")
    if key is None or rules.method != "post" or rules.keeps_no_answer:
        return None
    if not 1 <= len(key) <= KEY_LENGTH:
        raise Refused(f"An Idempotency-Key has 1 to {KEY_LENGTH} characters.")
    return key


def _if_match_of(rules: OperationRules, http: HttpRequest) -> str | None:
    """The states that the client names, if the operation asks for them. Raises Refused."""
    named: str | None = http.headers.get("If-Match")
    if named is None or not rules.has_etag:
        return None
    if not 1 <= len(named) <= IF_MATCH_LENGTH:
        raise Refused(f"An If-Match has 1 to {IF_MATCH_LENGTH} characters.")
    return named


def _said(context: RequestContext) -> bytes:
    """The body as it is compared for an Idempotency-Key: an upload without the boundary, which is random each time."""
    upload = context.upload
    if upload is None:
        return context.raw_body or b""
    return f"{upload.filename}\n{upload.content_type}\n{upload.hash}".encode()


def _call_handler(
    tx: Transaction, rules: OperationRules, http: HttpRequest, context: RequestContext, if_match: str | None = None
) -> Answer:
    query = dict(context.query)
    page = PageOptions(**{name: query.pop(name) for name in PAGE_OPTIONS if name in query})
    request = Request(
        tx=tx,
        credentials=context.credentials,
        settings=context.service.settings,
        url=base_url(context.service, http) + rules.path,
        stored_root=stored_root(context.service, http),
        query_text=http.scope["query_string"].decode("latin-1"),
        page=page,
        body=context.json or {},
        media=context.upload,
        if_match=if_match,
    )
    answer: Answer = rules.function(request, **query)
    if page.fields and not answer.is_list:
        assert answer.body is not None, "only what reads a record has this parameter"
        return replace(answer, body=orjson.dumps(pick(orjson.loads(answer.body), page.fields)))
    return answer


def base_url(service: Service, http: HttpRequest) -> str:
    """The URL of the service: the setting, otherwise the one that the client used."""
    configured: str = service.settings.base_url
    return configured.rstrip("/") if configured else f"{http.url.scheme}://{http.url.netloc}"


def stored_root(service: Service, http: HttpRequest) -> str:
    """The URL of the service in stored data: the setting, otherwise the socket that the client reached. It is not the
    Host header, because a client that uploads a file could then make others fetch it from any server.
    """
    configured: str = service.settings.base_url
    if configured:
        return configured.rstrip("/")
    host, port = http.scope.get("server") or ("localhost", None)
    host = f"[{host}]" if ":" in host else host
    is_usual = port is None or port == USUAL_PORTS.get(http.url.scheme)
    return f"{http.url.scheme}://{host}" + ("" if is_usual else f":{port}")


def _run_itself(rules: OperationRules, http: HttpRequest, context: RequestContext) -> Answer:
    cookies = http.headers.get("Cookie", "")
    request = PersonRequest(
        service=context.service,
        credentials=getattr(context, "credentials", None),
        key=cookie_in(cookies),
        root=base_url(context.service, http),
        stored_root=stored_root(context.service, http),
        query=context.query,
        body=context.json or {},
        browser=Browser(
            http.client.host if http.client else "",
            http.headers.get("User-Agent", ""),
            cookie_in(cookies, KNOWN_COOKIE),
        ),
    )
    if request.credentials is None:
        check_origin(http.headers, context.service.settings.base_url)
    answer: Answer = rules.function(request)
    return answer


def _run_relay(
    rules: OperationRules, http: HttpRequest, context: RequestContext, phone: str, take_place: Callable[[int], bool]
) -> Answer | HeldAnswer:
    path_parameters = {name: str(value) for name, value in http.path_params.items()}
    request = RelayRequest(
        database=context.service.database,
        settings=context.service.settings,
        raw_body=context.raw_body or b"",
        query=dict(http.query_params),
        path_parameters=path_parameters,
        client_address=http.client.host if http.client else "",
        note_workspace=partial(context.service.write_lanes.note_phone, phone),
        take_place=take_place,
    )
    answer: Answer | HeldAnswer = rules.function(request)
    return answer
