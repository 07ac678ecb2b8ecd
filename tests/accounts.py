"""People with passwords, and browsers in which they are signed in."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
from argon2 import PasswordHasher
from starlette.testclient import TestClient

from handlers.app import create_app
from persistence.accounts.accounts import find_account, set_password
from persistence.accounts.passwords import Passwords
from persistence.database import Database
from persistence.users import add_member
from persistence.workspaces.records import Workspace
from relayboard.base.settings import Settings
from tests.clients import running_client

QUICK = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
"""Parameters that are only quick."""
PASSWORD = "the river is wide in march"
EMAIL = "amina@example.org"
ORIGIN = "http://testserver"
SESSIONS, ACCOUNT, LABELS = "/api/v2/sessions.json", "/api/v2/account.json", "/api/v2/labels.json"


def add_person(
    database: Database, workspace: Workspace, email: str = EMAIL, role: str = "editor", password: str | None = PASSWORD
) -> int:
    """A user with a password and a role in a workspace; returns the user's id."""
    with database.writing() as tx:
        add_member(tx, workspace.id, email, role)
        found = find_account(tx, email)
        assert found is not None
        if password is not None:
            set_password(tx, found.user_id, QUICK.hash(password))
        return found.user_id


class Browser:
    """A browser: it keeps its cookies, and its page sends the CSRF token with each change."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.cookies: dict[str, str] = {}
        self.headers: dict[str, str] = {"Origin": ORIGIN}

    def ask(self, method: str, path: str, body: Any = None, headers: Any = None, **query: Any) -> httpx.Response:
        self.client.cookies.clear()
        kept = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        sent = {**self.headers, **({"Cookie": kept} if kept else {}), **(headers or {})}
        extra = {} if body is None else {"json": body}
        response = self.client.request(method, path, params=query, headers=sent, **extra)
        self.cookies.update(response.cookies)
        if "Max-Age=0" in response.headers.get("Set-Cookie", ""):
            self.cookies.pop("relayboard_session", None)
        return response

    def get(self, path: str, headers: Any = None, **query: Any) -> httpx.Response:
        return self.ask("GET", path, None, headers, **query)

    def post(self, path: str, body: Any, headers: Any = None, **query: Any) -> httpx.Response:
        return self.ask("POST", path, body, headers, **query)

    def delete(self, path: str, **query: Any) -> httpx.Response:
        return self.ask("DELETE", path, **query)

    def sign_in(self, email: str = EMAIL, password: str = PASSWORD, **more: str) -> httpx.Response:
        response = self.post(SESSIONS, {"email": email, "password": password, **more})
        if response.status_code == 201:
            self.headers["X-CSRF-Token"] = self.get(ACCOUNT).json()["csrf_token"]
        return response


@contextmanager
def serving(database: Database, settings: Settings, **changes: Any) -> Iterator[TestClient]:
    """A client of the service with quick passwords."""
    app: Any = create_app(replace(settings, **changes), database=database, passwords=QUICK, check_responses=True)
    with running_client(app, base_url=ORIGIN) as client:
        yield client
