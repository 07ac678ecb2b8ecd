"""The outermost layer: a request id for every answer, and strict checks of size, form and encoding before anything."""

import logging
import re
import time
import uuid
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import unquote_to_bytes

import orjson

from handlers.strict_json import StrictJsonError, parse_strict
from relayboard.settings import Settings

logger = logging.getLogger("relayboard.access")
errors = logging.getLogger("relayboard.api")

URL_LIMIT_BYTES = 8192
UPLOAD_LIMIT_BYTES = 26 * 1024 * 1024
JSON_PREFIX = "/api/"
BODY_METHODS = ("POST", "PUT", "PATCH", "DELETE")
REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}\Z")
BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
JSON_TYPE = re.compile(rb'application/json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?;?\s*\Z', re.IGNORECASE)
MULTIPART_TYPE = re.compile(rb"multipart/form-data\s*;", re.IGNORECASE)
UPLOAD_PATHS = frozenset({"/api/v2/media.json"})


class Refusal(Exception):
    """A request that goes no further: status and sentence."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class Guard:
    """Inner layers find in `scope["relayboard"]` what it learnt: request_id, raw_body, body (parsed JSON)."""

    def __init__(self, app: Any, settings: Settings) -> None:
        self.app = app
        self.body_limit_bytes = settings.body_limit_bytes

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = _request_id(scope)
        state: dict[str, Any] = {"request_id": request_id}
        scope["relayboard"] = state
        answer = _Answer(send, request_id, head_only=scope["method"] == "HEAD")
        began = time.perf_counter()
        try:
            check_url(scope)
            await self.app(scope, await self._guarded_receive(scope, receive, state), answer.send)
        except Refusal as refusal:
            await answer.refuse(refusal.status, refusal.text)
        except Exception:
            errors.exception("request %s failed", request_id)
            if answer.status is not None:
                raise
            await answer.refuse(500, "Internal server error.")
        finally:
            milliseconds = (time.perf_counter() - began) * 1000
            logger.info(
                "%s %s %s",
                scope["method"],
                scope["path"],
                answer.status,
                extra={"request_id": request_id, "duration_ms": round(milliseconds, 1)},
            )

    async def _guarded_receive(self, scope: MutableMapping[str, Any], receive: Any, state: dict[str, Any]) -> Any:
        is_upload = scope["path"] in UPLOAD_PATHS and scope["method"] == "POST"
        limit = UPLOAD_LIMIT_BYTES if is_upload else self.body_limit_bytes
        raw_body = await read_body(scope, receive, limit)
        state["raw_body"] = raw_body
        if scope["path"].startswith(JSON_PREFIX):
            check_content_type(scope, raw_body, is_upload=is_upload)
            if scope["method"] in BODY_METHODS and not is_upload:
                try:
                    state["body"] = parse_strict(raw_body)
                except StrictJsonError as error:
                    raise Refusal(400, str(error)) from error
        return _replay(raw_body, receive)


def check_url(scope: MutableMapping[str, Any]) -> None:
    """Raises Refusal for a URL that is too long, badly escaped, or decodes to something that is no text."""
    raw_path = scope.get("raw_path") or scope["path"].encode("utf-8", "surrogateescape")
    query = scope.get("query_string", b"")
    if len(raw_path) + len(query) > URL_LIMIT_BYTES:
        raise Refusal(400, f"The URL is longer than {URL_LIMIT_BYTES} bytes.")
    for part in (raw_path, query):
        if BAD_ESCAPE.search(part):
            raise Refusal(400, "The URL is badly escaped.")
        decoded = unquote_to_bytes(part)
        if b"\x00" in decoded:
            raise Refusal(400, "NUL characters are not allowed.")
        try:
            decoded.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Refusal(400, "The URL is not valid UTF-8.") from error


async def read_body(scope: MutableMapping[str, Any], receive: Any, limit_bytes: int) -> bytes:
    """The whole body. Raises Refusal(413) as soon as it is known to pass the limit."""
    declared = header(scope, b"content-length")
    if declared is not None and declared.isdigit() and int(declared) > limit_bytes:
        raise Refusal(413, f"The request body is larger than {limit_bytes} bytes.")
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(400, "The request ended early.")
        body += message.get("body", b"")
        if len(body) > limit_bytes:
            raise Refusal(413, f"The request body is larger than {limit_bytes} bytes.")
        if not message.get("more_body", False):
            return bytes(body)


def check_content_type(scope: MutableMapping[str, Any], raw_body: bytes, *, is_upload: bool) -> None:
    """Raises Refusal(415) for a body that is no JSON (uploads: no multipart form); none at all counts as JSON."""
    content_type = header(scope, b"content-type")
    if scope["method"] not in BODY_METHODS or (content_type is None and not is_upload):
        return
    wanted = MULTIPART_TYPE if is_upload else JSON_TYPE
    if not wanted.match((content_type or b"").strip()) and (raw_body or is_upload):
        raise Refusal(415, "Send a multipart form." if is_upload else "Send JSON.")


def header(scope: MutableMapping[str, Any], name: bytes) -> bytes | None:
    value: bytes | None = next((value for key, value in scope["headers"] if key == name), None)
    return value


def _request_id(scope: MutableMapping[str, Any]) -> str:
    given = header(scope, b"x-request-id")
    return given.decode() if given is not None and REQUEST_ID.match(given) else str(uuid.uuid4())


def _replay(body: bytes, receive: Any) -> Any:
    """The body once more for the inner layers, in one message; then whatever comes."""
    sent = False

    async def replay() -> Any:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


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

    async def refuse(self, status: int, text: str) -> None:
        body = orjson.dumps({"detail": text})
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})
