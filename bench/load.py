"""Requests per second of a server under a few keep-alive connections."""

import http.client
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

CONNECTIONS = 4


@dataclass(frozen=True, slots=True)
class Request:
    """One kind of request; `body` makes a fresh body each time, `target` the path that belongs to it."""

    method: str
    url: str
    headers: dict[str, str]
    body: Callable[[], bytes] | None = None
    target: Callable[[bytes], str] | None = None


def throughput(request: Request, seconds: float, connections: int = CONNECTIONS) -> float:
    """Answered requests per second; raises for any answer that is not 2xx."""
    parts = urlsplit(request.url)
    counts = [0] * connections
    failures: list[str] = []
    deadline = time.monotonic() + seconds

    def work(index: int) -> None:
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        while time.monotonic() < deadline and not failures:
            body = request.body() if request.body is not None else None
            asked = request.target(body) if request.target is not None and body is not None else target
            connection.request(request.method, asked, body=body, headers=request.headers)
            response = connection.getresponse()
            content = response.read()
            if not 200 <= response.status < 300:
                failures.append(f"{response.status} {content[:300]!r}")
            counts[index] += 1
        connection.close()

    threads = [threading.Thread(target=work, args=(index,)) for index in range(connections)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise RuntimeError(f"{request.method} {request.url}: {failures[0]}")
    return sum(counts) / (time.monotonic() - began)
