"""A small client that sends real HTTP messages to the ASGI application, in process."""

from collections.abc import Mapping
from typing import Any

import httpx
from starlette.testclient import TestClient

from persistence.database import Database
from persistence.workspaces.records import Workspace
from testbed.tokens import make_token, make_used_token


class Api:
    """Requests with one token: `api.get("/api/v2/labels.json", name="x")`, `api.post(path, body, uuid=...)`."""

    def __init__(self, client: TestClient, database: Database, workspace: Workspace, token: str) -> None:
        self.client = client
        self.database = database
        self.workspace = workspace
        self.token = token

    def _headers(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        return {"Authorization": f"Token {self.token}", **(extra or {})}

    def get(self, path: str, **query: Any) -> httpx.Response:
        return self.client.get(path, params=query, headers=self._headers())

    def follow(self, url: str) -> httpx.Response:
        """A page by the URL in another page."""
        return self.client.get(url, headers=self._headers())

    def post(
        self, path: str, body: Any = None, headers: Mapping[str, str] | None = None, **query: Any
    ) -> httpx.Response:
        return self.client.post(path, json=body, params=query, headers=self._headers(headers))

    def delete(self, path: str, **query: Any) -> httpx.Response:
        return self.client.delete(path, params=query, headers=self._headers())

    def upload(self, path: str, filename: str, content: bytes, content_type: str) -> httpx.Response:
        files = {"file": (filename, content, content_type)}
        return self.client.post(path, files=files, headers=self._headers())

    def results(self, path: str, **query: Any) -> list[dict[str, Any]]:
        """The records of the first page of a list."""
        response = self.get(path, **query)
        assert response.status_code == 200, response.text
        records: list[dict[str, Any]] = response.json()["results"]
        return records

    def all_results(self, path: str, **query: Any) -> list[dict[str, Any]]:
        """The records of all pages of a list, following `next`."""
        response = self.get(path, **query)
        records: list[dict[str, Any]] = []
        while True:
            assert response.status_code == 200, response.text
            page = response.json()
            records += page["results"]
            if page["next"] is None:
                return records
            response = self.client.get(page["next"], headers=self._headers())

    def as_role(self, role: str, scope: str = "write") -> "Api":
        """The same workspace through a token of another role."""
        token = make_used_token(self.database, self.workspace, role, scope)
        return self.with_token(token)

    def limited_to(self, *areas: str, role: str = "administrator") -> "Api":
        """The same workspace through a token that is limited to areas."""
        return self.with_token(make_token(self.database, self.workspace, role, areas=areas))

    def with_token(self, token: str) -> "Api":
        return Api(self.client, self.database, self.workspace, token)
