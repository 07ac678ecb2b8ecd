"""Requests that the guard refuses."""

from collections.abc import Mapping


class Refusal(Exception):
    """A request that is refused before a handler runs: status, message for the client, and further headers."""

    def __init__(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = headers or {}


class ClientGone(Exception):
    """The client disconnected before its request was complete; nobody waits for a response."""
