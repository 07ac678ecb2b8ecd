"""Receivers of webhooks that behave badly, each on a port of its own."""

import socket
import socketserver
import struct
import threading
from collections import Counter

HEAD_LIMIT_BYTES = 65_536
DRIP_SECONDS = 0.5
"""Between two bytes of 59, so that the whole answer takes much longer than any time limit of a run."""
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
REFUSED = b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
LIE = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nConnection: close\r\n\r\nok"

SHARES = {"ok": 75, "flaky": 10, "lies": 10, "resets": 3, "hangs": 1, "drips": 1}
"""How many of a hundred events go to each."""
SLOW = ("hangs", "drips")
MOST_FOR_SLOW = 12
"""Of a round, for each: a receiver that does not answer has one slot, so that each of its events takes four time
limits, one after the other."""
ACCEPTING = ("ok", "flaky", "lies")
"""Those that accept every event in the end. One that lies about the length of a 200 has accepted."""


class FaultyReceiver(socketserver.ThreadingTCPServer):
    """`ids` counts the calls by event id."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self, behavior: str) -> None:
        super().__init__(("127.0.0.1", 0), _Call)
        self.behavior = behavior
        self.ids: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.ending = threading.Event()
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{self.behavior}"

    def note(self, event_id: str) -> int:
        """Counts a call; how many there were of this event."""
        with self.lock:
            self.ids[event_id] += 1
            return self.ids[event_id]

    def close(self) -> None:
        self.ending.set()
        self.shutdown()
        self.server_close()


class _Call(socketserver.BaseRequestHandler):
    server: FaultyReceiver

    def handle(self) -> None:
        try:
            event_id = self._read_event()
            if event_id is not None:
                self._answer(event_id)
        except OSError:
            return  # the caller is gone: it was killed, or its time is over

    def _read_event(self) -> str | None:
        """The id of the event; None for a request that is not complete."""
        content = b""
        while b"\r\n\r\n" not in content and len(content) < HEAD_LIMIT_BYTES:
            part = self.request.recv(HEAD_LIMIT_BYTES)
            if not part:
                return None
            content += part
        head, _, body = content.partition(b"\r\n\r\n")
        headers = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        while len(body) < int(headers.get(b"content-length", 0)):
            part = self.request.recv(HEAD_LIMIT_BYTES)
            if not part:
                return None
            body += part
        return headers[b"webhook-id"].decode()

    def _answer(self, event_id: str) -> None:
        receiver, connection = self.server, self.request
        count = receiver.note(event_id)
        if receiver.behavior == "resets":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif receiver.behavior == "hangs":
            connection.recv(1)  # until the caller gives up
        elif receiver.behavior == "drips":
            for position in range(len(OK)):
                connection.sendall(OK[position : position + 1])
                if receiver.ending.wait(DRIP_SECONDS):
                    return
        elif receiver.behavior == "lies":
            connection.sendall(LIE)
        else:
            connection.sendall(REFUSED if receiver.behavior == "flaky" and count == 1 else OK)
