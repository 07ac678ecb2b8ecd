"""The outermost layer: a request id for every answer, and strict checks of size, form and encoding before anything."""

import logging
import re
import time
import uuid
from collections.abc import Collection, MutableMapping
from typing import Any

from handlers.errors import is_method_missing
from handlers.gateway import hide_secret
from handlers.metrics import count_request
from handlers.pages import detail_page, header
from handlers.refusals import ClientGone, Refusal
from handlers.request_body import read_body, replay
from handlers.request_checks import check_form_type, check_json_type, check_url
from handlers.strict_json import StrictJsonError, parse_strict
from relayboard.logs import current_request_id
from relayboard.settings import Settings

access = logging.getLogger("relayboard.access")
errors = logging.getLogger("relayboard.api")

FORM_ENVELOPE_BYTES = 1024 * 1024
UPLOAD_LIMIT_BYTES = 25 * 1024 * 1024 + FORM_ENVELOPE_BYTES
JSON_PREFIX = "/api/"
PROBE_PREFIXES = ("/health/", "/metrics")
UPLOAD_PATHS = frozenset({"/api/v2/media.json"})
BODY_METHODS = ("POST", "PUT", "PATCH", "DELETE")
REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}\Z")
LOGGED_PATH_LENGTH = 200


class Guard:
    """ASGI layer that leaves what it learnt in `scope["relayboard"]`: `request_id`, `raw_body`, `body` (parsed JSON).

    Under `/api/` a body must be strict JSON, on upload paths a multipart form; elsewhere (the phones) it is only
    limited in size. Refusals and failures are answered as `{"detail": "..."}`; the log gets no query and no body.
    """

    def __init__(self, app: Any, settings: Settings, *, upload_paths: Collection[str] = UPLOAD_PATHS) -> None:
        self.app = app
        self.body_limit_bytes = settings.body_limit_bytes
        self.has_metrics = settings.metrics
        self.upload_paths = upload_paths
        self.is_stopping = False

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
        else:
            await self.app(scope, self._noticing_shutdown(receive), send)

    async def _answer(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        request_id = _request_id(scope)
        method, path = scope["method"], scope["path"]
        scope["relayboard"] = {"request_id": request_id}
        answer = _Answer(send, request_id, head_only=method == "HEAD")
        token = current_request_id.set(request_id)
        began = time.perf_counter()
        try:
            await self._pass_on(scope, receive, answer)
        finally:
            seconds = time.perf_counter() - began
            self._note(scope, method, path, answer.status, seconds)
            current_request_id.reset(token)

    async def _pass_on(self, scope: MutableMapping[str, Any], receive: Any, answer: "_Answer") -> None:
        try:
            if self.is_stopping:
                raise Refusal(503, "The service is stopping.", {"Retry-After": "1", "Connection": "close"})
            await self.app(scope, await self._checked(scope, receive), answer.send)
        except Refusal as refusal:
            await detail_page(refusal.status, refusal.text, refusal.headers).send(answer.send)
        except ClientGone:
            return
        except Exception:
            errors.exception("unexpected failure")
            if answer.status is not None:
                raise  # half an answer is out: the server has to break the connection
            await detail_page(500, "Internal server error.").send(answer.send)

    async def _checked(self, scope: MutableMapping[str, Any], receive: Any) -> Any:
        """The receive callable for the inner layers, after all checks. Raises Refusal or ClientGone."""
        check_url(scope)
        is_upload = scope["method"] == "POST" and scope["path"] in self.upload_paths
        body = await read_body(scope, receive, UPLOAD_LIMIT_BYTES if is_upload else self.body_limit_bytes)
        state = scope["relayboard"]
        state["raw_body"] = body
        if is_method_missing(scope["method"], scope["path"]):
            return replay(body, receive)
        if is_upload:
            check_form_type(scope)
        elif scope["path"].startswith(JSON_PREFIX) and scope["method"] in BODY_METHODS:
            check_json_type(scope, has_body=bool(body))
            try:
                state["body"] = parse_strict(body)
            except StrictJsonError as error:
                raise Refusal(400, str(error)) from error
        return replay(body, receive)

    def _note(
        self, scope: MutableMapping[str, Any], method: str, path: str, status: int | None, seconds: float
    ) -> None:
        """Write the access log line and count the request; a client that left counts as 499. Probes are quiet."""
        is_probe = path.startswith(PROBE_PREFIXES)
        if self.has_metrics and not is_probe:
            count_request(method, path, status or 499, seconds)
        level = logging.DEBUG if is_probe else logging.INFO
        client = scope.get("client")
        extra = {"duration_ms": round(seconds * 1000, 1), "client": client[0] if client else None}
        access.log(level, "%s %s %s", method, hide_secret(path)[:LOGGED_PATH_LENGTH], status or 499, extra=extra)

    def _noticing_shutdown(self, receive: Any) -> Any:
        async def receive_lifespan() -> Any:
            message = await receive()
            self.is_stopping = message["type"] == "lifespan.shutdown"
            return message

        return receive_lifespan


def _request_id(scope: MutableMapping[str, Any]) -> str:
    """The id the client gave, when it is a sane one, else a new one."""
    given = header(scope, b"x-request-id")
    return given.decode() if given is not None and REQUEST_ID.match(given) else str(uuid.uuid4())


class _Answer:
    """Adds the request id to an answer, leaves its body out for HEAD, and remembers its status."""

    def __init__(self, send: Any, request_id: str, *, head_only: bool) -> None:
        self._send = send
        self._request_id = request_id.encode()
        self._head_only = head_only
        self.status: int | None = None

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [pair for pair in message.get("headers", []) if pair[0].lower() != b"x-request-id"]
            message = {**message, "headers": [*headers, (b"x-request-id", self._request_id)]}
        elif self._head_only and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await self._send(message)
