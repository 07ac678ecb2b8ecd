"""A visitor of a site with a chat, as its browser calls the service."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import requests

from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService

SITE = "https://www.example.org"


def add_chat(service: RunningService, origins: str = SITE, **settings: str) -> str:
    """A chat of the workspace; the UUID of its channel."""
    body = {"type": "webchat", "name": "Help desk", "address": "help", "scheme": "webchat"}
    added = service.post("/api/v2/channel_settings.json", {**body, "settings": {"origins": origins, **settings}})
    uuid: str = added["uuid"]
    return uuid


@dataclass(slots=True)
class Browser:
    """A browser on a page of a site; `token` is what it keeps of its visit."""

    service: RunningService
    chat: str
    origin: str | None = SITE
    token: str = ""
    position: str = ""
    extra: dict[str, str] = field(default_factory=dict)

    def call(self, method: str, path: str, **more: Any) -> requests.Response:
        headers = {"Origin": self.origin, "Authorization": f"Bearer {self.token}" if self.token else None, **self.extra}
        given = {name: value for name, value in {**headers, **more.pop("headers", {})}.items() if value is not None}
        url = f"{self.service.url}/chat/{self.chat}{path}"
        return requests.request(method, url, headers=given, timeout=PATIENCE_SECONDS, **more)

    def begin(self, **given: str) -> str:
        """Begins a visit; the visitor's code."""
        response = self.call("POST", "/visits", json=given)
        assert response.status_code == 201, response.text
        self.token = response.json()["token"]
        code: str = response.json()["visitor"]
        return code

    def write(self, text: str, key: str) -> requests.Response:
        return self.call("POST", "/messages", json={"key": key, "text": text})

    def messages(self, **query: str) -> dict[str, Any]:
        response = self.call("GET", "/messages", params=query)
        assert response.status_code == 200, response.text
        found: dict[str, Any] = response.json()
        return found

    def follow(self, last_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The events after a position: their names and data."""
        with self.call("GET", "/stream", headers={"Last-Event-ID": last_id}, stream=True) as response:
            assert response.status_code == 200, response.text
            name = ""
            for line in response.iter_lines(chunk_size=1, decode_unicode=True):
                head, _, rest = line.partition(": ")
                if head == "event":
                    name = rest
                elif head == "data":
                    yield name, json.loads(rest)

    def acknowledge(self, **ids: list[str]) -> None:
        assert self.call("POST", "/acknowledgements", json=ids).status_code == 204
