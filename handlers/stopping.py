"""Tells the layers of the service that the process stops, before the server waits for open connections."""

from collections.abc import Callable


class Stopping:
    """What to do when the process stops; everything that is added is called once."""

    def __init__(self) -> None:
        self._calls: list[Callable[[], None]] = []

    def add(self, call: Callable[[], None]) -> None:
        self._calls.append(call)

    def begin(self) -> None:
        for call in self._calls:
            call()
