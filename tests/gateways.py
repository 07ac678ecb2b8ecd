"""Gateways in tests: a receiver that tells parts of messages apart, and one that answers nobody."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs

from testbed.patience import PATIENCE_SECONDS
from tests.worker.receivers import Received, Receiver, Reply, receiving


class Parts:
    """A gateway that remembers which parts of which messages it was given, by their names, and answers as told."""

    def __init__(self, respond: Callable[[Received], Reply] | None = None) -> None:
        self.respond = respond or (lambda _request: Reply(200))
        self.counts: Counter[str] = Counter()
        self.texts: list[str] = []
        self._lock = threading.Lock()

    def __call__(self, request: Received) -> Reply:
        with self._lock:
            self.counts[request.headers["idempotency-key"]] += 1
            self.texts.append(parse_qs(request.body.decode())["text"][0])
        return self.respond(request)

    @property
    def doubled(self) -> list[str]:
        with self._lock:
            return [part for part, count in self.counts.items() if count > 1]


@contextmanager
def holding() -> Iterator[tuple[Receiver, threading.Event]]:
    """A gateway that answers nobody until the event is set."""
    released = threading.Event()

    def hold(_request: Received) -> Reply:
        released.wait(PATIENCE_SECONDS)
        return Reply(200)

    with receiving(hold) as receiver:
        try:
            yield receiver, released
        finally:
            released.set()
