"""A small receiver of webhooks that prints events and checks signatures; for developers and for the demo."""

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from worker.webhooks.signing import is_signed

BODY_LIMIT_BYTES = 1_048_576

Notice = Callable[[dict[str, Any]], None]
Reply = Callable[[dict[str, Any]], dict[str, Any] | None]


def read_parameters(content_type: str, body: bytes) -> dict[str, Any]:
    """The event in a request: form parameters (a repeated name gives a list) or a JSON object."""
    if content_type.split(";")[0].strip() == "application/json":
        document = json.loads(body)
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
        content = b"This receiver waits for webhooks, which are POSTed to it.\n"
        request.send_response(200)
        request.send_header("Content-Type", "text/plain; charset=utf-8")
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)

    def _receive(self, request: BaseHTTPRequestHandler) -> None:
        length = min(int(request.headers.get("Content-Length", 0)), BODY_LIMIT_BYTES)
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
        content = b"" if answer is None else json.dumps(answer).encode()
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)
