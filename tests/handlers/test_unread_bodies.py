"""The body of an unauthorized request is not read: tests the whole service with raw ASGI messages."""

from collections.abc import Iterator

import pytest
from sqlalchemy import select

from handlers.app import create_app
from persistence.database import Database
from persistence.tables.channels import channel
from persistence.workspaces.records import Workspace
from relayboard.base.settings import Settings
from testbed.gateways import add_gateway
from testbed.tokens import make_token
from tests.handlers.exchange import Reply, exchange

LABELS, UPLOADS = "/api/v2/labels.json", "/api/v2/media.json"
FORM = ("Content-Type", "multipart/form-data; boundary=x")
JSON = ("Content-Type", "application/json")
LENGTH = ("Content-Length", "1000")


@pytest.fixture
def taken() -> list[bool]:
    """Notes each piece that is read."""
    return []


def pieces(taken: list[bool]) -> Iterator[bytes]:
    for _ in range(10):
        taken.append(True)
        yield b"x" * 100


def send(
    settings: Settings,
    database: Database,
    path: str,
    taken: list[bool],
    *headers: tuple[str, str],
    method: str = "POST",
) -> Reply:
    return exchange(create_app(settings, database=database), method, path, pieces(taken), [LENGTH, *headers])


@pytest.mark.together
@pytest.mark.parametrize(("path", "media_type"), [(LABELS, JSON), (UPLOADS, FORM), (LABELS, FORM), (UPLOADS, JSON)])
@pytest.mark.parametrize(("token", "status"), [(None, 401), ("Token rb_0123456789ab_nobody", 403), ("Basic YTpi", 401)])
def test_without_a_good_token_the_body_is_not_read(
    settings: Settings,
    database: Database,
    taken: list[bool],
    path: str,
    media_type: tuple[str, str],
    token: str | None,
    status: int,
) -> None:
    authorization = [] if token is None else [("Authorization", token)]

    reply = send(settings, database, path, taken, media_type, *authorization)

    assert (reply.status, taken) == (status, [])


@pytest.mark.together
@pytest.mark.parametrize(("role", "scope"), [("viewer", "write"), ("administrator", "read")])
@pytest.mark.parametrize(("path", "media_type"), [(LABELS, JSON), (UPLOADS, FORM)])
def test_without_the_right_to_do_it(
    settings: Settings,
    database: Database,
    workspace: Workspace,
    taken: list[bool],
    path: str,
    media_type: tuple[str, str],
    role: str,
    scope: str,
) -> None:
    token = make_token(database, workspace, role, scope)

    reply = send(settings, database, path, taken, media_type, ("Authorization", f"Token {token}"))

    assert (reply.status, taken) == (403, [])


@pytest.mark.together
@pytest.mark.parametrize(("path", "method", "status"), [("/api/v2/nothing.json", "POST", 404), (UPLOADS, "PUT", 405)])
def test_where_there_is_nothing(
    settings: Settings, database: Database, taken: list[bool], path: str, method: str, status: int
) -> None:
    reply = send(settings, database, path, taken, FORM, method=method)

    assert (reply.status, taken) == (status, [])


def test_of_a_gateway_without_its_secret(
    settings: Settings, database: Database, workspace: Workspace, taken: list[bool]
) -> None:
    gateway_id = add_gateway(database, workspace, "http://127.0.0.1:1/")
    with database.reading() as tx:
        uuid = tx.execute(select(channel.c.uuid).where(channel.c.id == gateway_id)).scalar_one()

    reply = send(settings, database, f"/c/ex/{uuid}/wrong-secret/receive", taken)

    assert (reply.status, taken) == (401, [])
