"""Requests that go to the application itself: trials are many, and an HTTP client would cost as much as the service."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from tests.api import Api
from tests.contract.services import Service


@dataclass(frozen=True)
class Response:
    status_code: int
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body)


class DirectApi(Api):
    """`Api` whose requests are ASGI messages in the event loop of its service."""

    def __init__(self, service: Service, api: Api) -> None:
        super().__init__(service.client, service.database, api.workspace, api.token)

    def get(self, path: str, **query: Any) -> Any:
        return self.send("GET", path, query)

    def post(self, path: str, body: Any = None, headers: Mapping[str, str] | None = None, **query: Any) -> Any:
        return self.send("POST", path, query, json.dumps(body).encode(), headers=headers)

    def delete(self, path: str, **query: Any) -> Any:
        return self.send("DELETE", path, query)

    def first_pages(self, paths: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
        """The records of the first page of each list, read one after another without coming back between them."""

        async def read() -> dict[str, list[dict[str, Any]]]:
            found = {}
            for path in paths:
                response = await self._exchange("GET", path, b"", b"", "application/json")
                assert response.status_code == 200, response.text
                found[path] = response.json()["results"]
            return found

        assert self.client.portal is not None
        return self.client.portal.call(read)

    def send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        body: bytes = b"",
        kind: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        assert self.client.portal is not None
        return self.client.portal.call(self._exchange, method, path, urlencode(query).encode(), body, kind, headers)

    async def _exchange(
        self, method: str, path: str, query: bytes, body: bytes, kind: str, headers: Mapping[str, str] | None = None
    ) -> Response:
        given = {**self._headers(), "Host": "testserver", "Content-Type": kind, **(headers or {})}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": query,
            "headers": [(name.lower().encode(), value.encode()) for name, value in given.items()],
            "client": ("testclient", 50000),
            "server": ("testserver", 80),
        }
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.client.app(scope, receive, send)
        return Response(sent[0]["status"], b"".join(each.get("body", b"") for each in sent[1:]))
