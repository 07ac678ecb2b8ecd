"""From an operation of the contract to its handler, inside one unit of work."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio.to_thread
from connexion.context import receive as connexion_receive
from connexion.context import scope as connexion_scope
from connexion.resolver import Resolver
from sqlalchemy.exc import DBAPIError
from starlette.requests import Request
from starlette.responses import Response

from handlers.answers import Answer
from handlers.asgi.compression import LEAST_BYTES, accepts_gzip, compress
from handlers.contract.json_body import read_json
from handlers.contract.operations import OperationRules, load_contract
from handlers.request import Call, RelayCall, Upload
from handlers.service import Service, service_of, state_of
from persistence.database import Transaction
from persistence.errors import Refused
from persistence.limits.idempotency import claim_key, keep_answer
from persistence.tables.service import KEY_LENGTH
from persistence.workspaces import hold_workspace

USUAL_PORTS = {"http": 80, "https": 443}


class HandlerResolver(Resolver):
    """Finds `handlers.<generation>.<first tag>.<operationId>` and wraps it as an endpoint."""

    def __init__(self, generation: str) -> None:
        super().__init__(self._endpoint)
        self.generation = generation

    def resolve_operation_id(self, operation: Any) -> str:
        tag = operation._operation["tags"][0]
        return f"handlers.{self.generation}.{tag}.{operation.operation_id.rpartition('.')[2]}"

    def _endpoint(self, operation_id: str) -> Callable[..., Awaitable[Response]]:
        rules = load_contract(self.generation)[operation_id]
        return make_endpoint(rules)


def make_endpoint(rules: OperationRules) -> Callable[..., Awaitable[Response]]:
    """The endpoint that Connexion calls: runs the handler in a database thread and renders its answer."""

    async def endpoint() -> Response:
        request = Request(connexion_scope, connexion_receive)
        service = service_of(request.scope)
        state = state_of(request.scope)
        if rules.is_writing and "raw_body" not in state and not rules.is_upload:
            await read_json(request.scope)  # no validator has, where the contract knows no body: still it has to be one
        run = _run_relay if rules.generation == "relay" else _run
        limiter = service.write_limiter if rules.is_writing else service.limiter
        answer = await anyio.to_thread.run_sync(run, service, rules, request, state, limiter=limiter)
        return render(answer, state, request.headers.get("Accept-Encoding", "") if answer.is_list else None)

    async def endpoint_of_phone(relayer_id: str) -> Response:
        # Connexion passes path parameters by name; the handler finds them in its call.
        return await endpoint()

    return endpoint_of_phone if "{relayer_id}" in rules.path else endpoint


def render(answer: Answer, state: dict[str, Any], encodings: str | None = None) -> Response:
    """The response; `encodings` is the header of a client that gets a list, which may come as gzip."""
    media_type = None if answer.body is None else "application/json"
    headers = {**state.get("headers", {}), **(answer.headers or {})}
    body = answer.body
    if encodings is not None:
        headers["Vary"] = "Accept-Encoding"
        if body is not None and len(body) >= LEAST_BYTES and accepts_gzip(encodings):
            body = compress(body)
            headers["Content-Encoding"] = "gzip"
    return Response(body, answer.status, headers, media_type=media_type)


def _run(service: Service, rules: OperationRules, request: Request, state: dict[str, Any]) -> Answer:
    """Run the handler; a write that lost a race is run again on what the winner left."""
    if not rules.is_writing:
        with service.database.reading() as tx:
            return _call(tx, service, rules, request, state)
    upload: Upload | None = state.get("media")
    try:
        answer = service.database.write(lambda tx: _answer_once(tx, service, rules, request, state))
    except DBAPIError as error:
        state["upload_is_needed"] = error.connection_invalidated
        raise
    if upload is not None and upload.place is not None:
        state["upload_is_needed"] = True
        service.media_store.accept(upload.uuid, upload.place)
    return answer


def _answer_once(
    tx: Transaction, service: Service, rules: OperationRules, request: Request, state: dict[str, Any]
) -> Answer:
    if rules.is_setting_up:
        hold_workspace(tx, state["credentials"].workspace.id)
    if "media" in state:
        state["media"].place = None  # an attempt before this one may have set it
    key = request.headers.get("Idempotency-Key")
    if key is None or rules.method != "post":
        return _call(tx, service, rules, request, state)
    if not 1 <= len(key) <= KEY_LENGTH:
        raise Refused(f"An Idempotency-Key has 1 to {KEY_LENGTH} characters.")
    workspace_id = state["credentials"].workspace.id
    asked = request.scope["query_string"] + b"\n" + _said(state)
    kept = claim_key(tx, workspace_id, rules.id, key, asked)
    if kept is not None:
        return Answer(kept.status, kept.body, {"Idempotency-Replayed": "true"})
    answer = _call(tx, service, rules, request, state)
    body = answer.body.decode() if isinstance(answer.body, bytes) else answer.body
    keep_answer(tx, workspace_id, rules.id, key, answer.status, body)
    return answer


def _said(state: dict[str, Any]) -> bytes:
    """The body as it counts for an Idempotency-Key: an upload without the boundary that clients draw each time."""
    media: Upload | None = state.get("media")
    if media is None:
        return bytes(state.get("raw_body", b""))
    return f"{media.filename}\n{media.content_type}\n{media.hash}".encode()


def _call(tx: Transaction, service: Service, rules: OperationRules, request: Request, state: dict[str, Any]) -> Answer:
    query = dict(state["query"])
    cursor = query.pop("cursor", None)
    call = Call(
        tx=tx,
        credentials=state["credentials"],
        settings=service.settings,
        url=base_url(service, request) + rules.path,
        stored_root=stored_root(service, request),
        query_text=request.scope["query_string"].decode("latin-1"),
        cursor=cursor,
        body=state.get("body") or {},
        media=state.get("media"),
    )
    answer: Answer = rules.function(call, **query)
    return answer


def base_url(service: Service, request: Request) -> str:
    """The address clients reach us at: the setting, else the one they used."""
    configured: str = service.settings.base_url
    return configured.rstrip("/") if configured else f"{request.url.scheme}://{request.url.netloc}"


def stored_root(service: Service, request: Request) -> str:
    """The address of the service in what it stores: the setting, else the socket that the client reached.

    Not the Host header: whoever uploads a file could then have others fetch it from anywhere.
    """
    configured: str = service.settings.base_url
    if configured:
        return configured.rstrip("/")
    host, port = request.scope.get("server") or ("localhost", None)
    host = f"[{host}]" if ":" in host else host
    is_usual = port is None or port == USUAL_PORTS.get(request.url.scheme)
    return f"{request.url.scheme}://{host}" + ("" if is_usual else f":{port}")


def _run_relay(service: Service, rules: OperationRules, request: Request, state: dict[str, Any]) -> Answer:
    call = RelayCall(
        database=service.database,
        settings=service.settings,
        raw_body=state.get("raw_body", b""),
        query=dict(request.query_params),
        path_parameters={name: str(value) for name, value in request.path_params.items()},
        client_address=request.client.host if request.client else "",
    )
    answer: Answer = rules.function(call)
    return answer
