"""Traffic that must not stop: each round sends one SMS out and takes one in, through whichever node answers, and
notices what a gateway and a webhook receiver get of it.

    python -m testbed.traffic --node https://sms.example.org --token-file token.txt --callback /c/ex/UUID/SECRET
"""

import argparse
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import requests

from testbed.patience import PATIENCE_SECONDS

OUT, IN = "out", "in"


class Outside:
    """The gateway (`/send`) and the webhook receiver (`/hook`) in one server: what they got, by text."""

    def __init__(self, port: int = 0) -> None:
        self.sent: Counter[str] = Counter()
        self.told: Counter[str] = Counter()
        self._lock = threading.Lock()
        outside = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                content = self.rfile.read(length)
                if len(content) < length:  # who sent it was killed meanwhile, and will send it again
                    self.close_connection = True
                    return
                body = content.decode()
                key = self.headers.get("Idempotency-Key")
                if outside.is_new(key):
                    outside._note(self.path, parse_qs(body))
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def is_new(self, key: str | None) -> bool:
        """Whether a request is not a repeat of another one, for gateways that recognize repeats; here all are new."""
        return True

    def _note(self, path: str, form: dict[str, list[str]]) -> None:
        text = form.get("text", [""])[0]
        with self._lock:
            if path.startswith("/send"):
                self.sent[text] += 1
            elif form.get("event") == ["mo_sms"]:
                self.told[text] += 1

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Traffic:
    """Rounds of requests to `nodes`, one after the other as a balancer does it: the next one when a node takes no
    more. Everything that was accepted must arrive `outside`.
    """

    def __init__(self, nodes: Sequence[str], token: str, callback: str, outside: Outside, *, ca: str = "") -> None:
        self.nodes = list(nodes)
        self.outside = outside
        self.pause_seconds = 0.0
        self.requests = 0
        self.failed: list[str] = []
        self.accepted: dict[str, list[str]] = {OUT: [], IN: []}
        self._callback = callback.rstrip("/")
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Token {token}"
        self._ca: str | bool = ca or True
        self._stopping = threading.Event()

    @property
    def rounds(self) -> int:
        return len(self.accepted[IN])

    @property
    def lost(self) -> list[str]:
        """What was accepted and has not arrived yet."""
        gone = [text for text in self.accepted[OUT] if not self.outside.sent[text]]
        return gone + [text for text in self.accepted[IN] if not self.outside.told[text]]

    @contextmanager
    def flowing(self, pause_seconds: float = 0.0) -> Iterator[None]:
        """The pause between rounds may be changed meanwhile."""
        self.pause_seconds = pause_seconds
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._stopping.set()
            thread.join()

    def wait_for_rest(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Until everything has arrived, or nothing has for so long: a slow machine has much to catch up with."""
        pause = threading.Event()
        least, deadline = len(self.lost), time.monotonic() + seconds
        while (number := len(self.lost)) and time.monotonic() < deadline:
            if number < least:
                least, deadline = number, time.monotonic() + seconds
            pause.wait(0.1)

    def _run(self) -> None:
        number = 0
        while not self._stopping.is_set():
            number += 1
            urn = f"+25078{number:07d}"
            out, incoming = f"{OUT} {number}", f"{IN} {number}"
            if self._send(out, "/api/v2/broadcasts.json", json={"urns": [f"tel:{urn}"], "text": out}):
                self.accepted[OUT].append(out)
            if self._send(incoming, f"{self._callback}/receive", data={"from": urn, "text": incoming}):
                self.accepted[IN].append(incoming)
            self._stopping.wait(self.pause_seconds)

    def _send(self, what: str, path: str, **body: object) -> bool:
        self.requests += 1
        reason = "no node"
        for node in [*self.nodes, *self.nodes]:
            try:
                answer = self._session.post(node + path, timeout=PATIENCE_SECONDS, verify=self._ca, **body)  # type: ignore[arg-type]
            except requests.ConnectionError as error:
                reason = type(error).__name__
                continue
            if answer.ok:
                return True
            reason = f"{answer.status_code} {answer.text[:200]}"
            if answer.status_code != 503:
                break
        self.failed.append(f"{what}: {reason}")
        return False


def main(arguments: Sequence[str], say: Callable[[str], object] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--node", action="append", required=True, help="URL of a balancer, or of each node")
    parser.add_argument("--token-file", type=Path, required=True)
    parser.add_argument("--callback", required=True, help="callback path of a gateway")
    parser.add_argument("--ca", default="", help="certificate of the authority")
    parser.add_argument("--port", type=int, default=8090, help="where gateway and receiver listen")
    parser.add_argument("--per-second", type=float, default=10.0, help="rounds per second")
    options = parser.parse_args(arguments)
    outside = Outside(options.port)
    traffic = Traffic(options.node, options.token_file.read_text().strip(), options.callback, outside, ca=options.ca)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with traffic.flowing(1 / options.per_second):
        ended.wait()
    traffic.wait_for_rest(60)
    sent, told = (len(traffic.accepted[kind]) for kind in (OUT, IN))
    say(f"requests made: {traffic.requests}, failed: {len(traffic.failed)}")
    say(f"events: {sent} SMS to send, {told} SMS received, lost: {len(traffic.lost)}")
    for line in traffic.failed[:5]:
        say(line)
    return 1 if traffic.failed or traffic.lost else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
