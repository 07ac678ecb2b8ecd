"""A network between us and an S3 server, which tests break and mend."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

PIECE_BYTES = 65536


class FaultyNetwork:
    """Passes connections on to a server. `mode` is "whole"; "cut": connections are closed at once; or "silent": nothing
    is passed on. A request that contains `poison` is cut, and so is an answer after `answer_bytes`.
    """

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        self._target = (parts.hostname or "", parts.port or 0)
        self.mode = "whole"
        self.poison = b""
        self.answer_bytes: int | None = None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        host, port = self._listener.getsockname()[:2]
        return f"http://{host}:{port}"

    def mend(self) -> None:
        """Everything works again, on new connections."""
        self.mode, self.poison, self.answer_bytes = "whole", b"", None
        for each in self._open:
            _close(each)
        self._open.clear()

    def close(self) -> None:
        _close(self._listener)
        self.mend()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(client)
            if self.mode == "cut":
                _close(client)
                continue
            server = socket.create_connection(self._target)
            self._open.append(server)
            for source, sink, is_request in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._pass, args=(source, sink, is_request), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, is_request: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(PIECE_BYTES):
                if self.mode == "silent":
                    continue
                if self.mode == "cut" or (is_request and self.poison and self.poison in data):
                    break
                if not is_request and self.answer_bytes is not None:
                    data, self.answer_bytes = data[: self.answer_bytes], max(0, self.answer_bytes - len(data))
                sink.sendall(data)
                if not is_request and self.answer_bytes == 0:
                    break
        _close(source)
        _close(sink)


def _close(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


@contextlib.contextmanager
def faulty_network(target: str) -> Iterator[FaultyNetwork]:
    network = FaultyNetwork(target)
    try:
        yield network
    finally:
        network.close()
