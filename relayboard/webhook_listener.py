"""A small receiver of webhooks that prints events and checks signatures; for developers and for the demo."""

import json
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import orjson

from worker.webhooks.signing import is_signed

BODY_LIMIT_BYTES = 1_048_576
MOST_DIGITS = 18
TEXT = "text/plain; charset=utf-8"
JSON = "application/json"

Notice = Callable[[dict[str, Any]], None]
Reply = Callable[[dict[str, Any]], dict[str, Any] | None]


class BadRequest(Exception):
    """A request that is no event; the message says what is wrong with it."""


def read_parameters(content_type: str, body: bytes) -> dict[str, Any]:
    """The event in a request: form parameters (a repeated name gives a list) or a JSON object. Raises
    BadRequest.
    """
    try:
        return _read_body(content_type, body)
    except UnicodeDecodeError as error:
        raise BadRequest("its body is not UTF-8") from error
    except orjson.JSONDecodeError as error:
        raise BadRequest("its body is not JSON") from error


def _read_body(content_type: str, body: bytes) -> dict[str, Any]:
    if content_type.split(";")[0].strip() == JSON:
        document = orjson.loads(body)
        return document if isinstance(document, dict) else {"body": document}
    form = parse_qs(body.decode("utf-8"), keep_blank_values=True)
    return {name: values[0] if len(values) == 1 else values for name, values in form.items()}


class WebhookListener:
    """Listens on a local port; calls `notice` with each request, and responds with 200 and the result of `reply`."""

    def __init__(self, port: int, notice: Notice, *, secret: str | None = None, reply: Reply | None = None) -> None:
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                listener._receive(self)

            def do_GET(self) -> None:
                listener._explain(self)

            def log_message(self, format: str, *args: Any) -> None:
                return None

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.notice = notice
        self.secret = secret
        self.reply = reply

    @property
    def port(self) -> int:
        return self.server.server_port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        """Listen in a separate thread."""
        threading.Thread(target=self.server.serve_forever, name="webhooks", daemon=True).start()

    def serve(self) -> None:
        """Listen in this thread until it is interrupted."""
        self.server.serve_forever()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def _explain(self, request: BaseHTTPRequestHandler) -> None:
        _respond(request, 200, b"This receiver waits for webhooks, which are POSTed to it.\n", TEXT)

    def _receive(self, request: BaseHTTPRequestHandler) -> None:
        try:
            self._take(request)
        except BadRequest as error:
            print(f"A request was refused: {error}.", file=sys.stderr, flush=True)
            _respond(request, 400, f"Refused: {error}.\n".encode(), TEXT)

    def _take(self, request: BaseHTTPRequestHandler) -> None:
        """Raises BadRequest."""
        length = min(_read_length(request.headers.get("Content-Length", "0")), BODY_LIMIT_BYTES)
        body = request.rfile.read(length)
        if len(body) < length:
            return  # the sender died before its request was complete; it will be repeated
        headers = {name.lower(): value for name, value in request.headers.items()}
        parameters = read_parameters(headers.get("content-type", ""), body)
        shown: dict[str, Any] = {"path": request.path, "webhook_id": headers.get("webhook-id"), "event": parameters}
        if self.secret is not None:
            shown["is_signed"] = is_signed(headers, body, self.secret, datetime.now(UTC))
        self.notice(shown)
        answer = self.reply(parameters) if self.reply is not None else None
        _respond(request, 200, b"" if answer is None else json.dumps(answer).encode(), JSON)


def _read_length(text: str) -> int:
    """The value of a header Content-Length. Raises BadRequest."""
    digits = text.strip()
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= MOST_DIGITS):
        raise BadRequest("its Content-Length is not a number of bytes")
    return int(digits)


def _respond(request: BaseHTTPRequestHandler, status: int, content: bytes, content_type: str) -> None:
    request.send_response(status)
    request.send_header("Content-Type", content_type)
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    request.wfile.write(content)
