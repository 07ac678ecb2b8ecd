"""A small client that sends real HTTP messages to the ASGI application, in process."""

import functools
import json
import re
from collections.abc import Mapping
from typing import Any

import httpx
from starlette.testclient import TestClient

from openapi.bundle import bundle
from persistence.database import Database
from persistence.workspaces import Workspace
from testbed.tokens import make_token, make_used_token

CODED = "/api/v2/"


def documented_codes() -> frozenset[str]:
    """The words for programs that the contract lists."""
    described = bundle("v2")["components"]["schemas"]["ErrorCode"]["description"]
    return frozenset(re.findall(r"`([a-z_]+)`", described))


@functools.cache
def known_codes() -> frozenset[str]:
    return documented_codes() - {"detail", "code", "non_field_errors"}


def without_code(response: httpx.Response) -> httpx.Response:
    """Demands that a refusal of generation 2 has a documented code, and takes it out, so that tests name what a refusal
    says for people.
    """
    if 400 <= response.status_code < 500 and CODED in str(response.request.url) and response.content:
        body = response.json()
        assert body.pop("code") in known_codes(), response.text
        response._content = json.dumps(body).encode()
    return response


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
        return without_code(self.client.get(path, params=query, headers=self._headers()))

    def follow(self, url: str) -> httpx.Response:
        """A page by the URL in another page."""
        return without_code(self.client.get(url, headers=self._headers()))

    def post(
        self, path: str, body: Any = None, headers: Mapping[str, str] | None = None, **query: Any
    ) -> httpx.Response:
        return without_code(self.client.post(path, json=body, params=query, headers=self._headers(headers)))

    def delete(self, path: str, **query: Any) -> httpx.Response:
        return without_code(self.client.delete(path, params=query, headers=self._headers()))

    def upload(self, path: str, filename: str, content: bytes, content_type: str) -> httpx.Response:
        files = {"file": (filename, content, content_type)}
        return without_code(self.client.post(path, files=files, headers=self._headers()))

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
