"""`/api/v2/tokens.json`: API tokens that people make for themselves, and administrators end."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from persistence.database import Database
from persistence.sql.columns import time_text
from persistence.tables.accounts import token as tokens
from persistence.tokens import TOKENS_PER_USER
from persistence.workspaces.records import Workspace
from relayboard.base.settings import Settings
from tests.accounts import EMAIL, LABELS, Browser, add_person, serving
from tests.api import Api
from tests.conftest import Clock

PATH, EVENTS = "/api/v2/tokens.json", "/api/v2/audit_events.json"
HEAD = "head@example.org"


@pytest.fixture
def client(database: Database, settings: Settings, workspace: Workspace) -> Iterator[TestClient]:
    add_person(database, workspace)
    add_person(database, workspace, HEAD, "administrator")
    with serving(database, settings) as client:
        yield client


@pytest.fixture
def amina(client: TestClient) -> Browser:
    """An editor's browser."""
    return signed_in(client, EMAIL)


@pytest.fixture
def head(client: TestClient) -> Browser:
    return signed_in(client, HEAD)


def signed_in(client: TestClient, email: str) -> Browser:
    browser = Browser(client)
    assert browser.sign_in(email).status_code == 201
    return browser


def make(browser: Browser, **more: Any) -> dict[str, Any]:
    response = browser.post(PATH, {"name": "Reports", **more})
    assert response.status_code == 201, response.text
    found: dict[str, Any] = response.json()
    return found


def listed(browser: Browser) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = browser.get(PATH).json()["results"]
    return found


def using(browser: Browser, database: Database, workspace: Workspace, made: dict[str, Any]) -> Api:
    return Api(browser.client, database, workspace, made["secret"])


def test_a_token_does_what_its_person_may_within_its_limits(
    amina: Browser, database: Database, workspace: Workspace
) -> None:
    everything, limited = make(amina, name="Website"), make(amina, scope="read", areas=["messages"])

    assert using(amina, database, workspace, everything).post(LABELS, {"name": "Urgent"}).status_code == 201
    api = using(amina, database, workspace, limited)
    assert [api.get(LABELS).status_code, api.post(LABELS, {"name": "X"}).status_code] == [200, 403]
    assert api.get("/api/v2/contacts.json").status_code == api.get(PATH).status_code == 403


def test_a_token_expires(amina: Browser, database: Database, workspace: Workspace, clock: Clock) -> None:
    later = make(amina, expires_on="2026-12-31T23:59:59Z")
    made = make(amina, expires_on=time_text(clock() + timedelta(hours=1)))
    clock.advance(hours=2)

    assert using(amina, database, workspace, made).get(LABELS).status_code == 403
    assert [each["expires_on"] for each in listed(amina)] == [made["expires_on"], later["expires_on"]]
    assert later["expires_on"] == "2026-12-31T23:59:59.000000Z"


def test_the_secret_is_shown_once_and_then_nowhere(amina: Browser, head: Browser) -> None:
    made = make(amina, areas=["contacts"])
    secret = made.pop("secret")

    (record,) = listed(amina)

    assert record == made
    assert (record["user"]["email"], record["areas"], record["scope"]) == (EMAIL, ["contacts"], "write")
    hidden = secret.split(record["token"])[1]  # it may have the separator in it
    shown = [browser.get(path).text for browser in (amina, head) for path in (PATH, EVENTS)]
    assert [text for text in shown if hidden in text] == []


def test_an_administrator_sees_and_revokes_all_tokens_others_only_their_own(
    amina: Browser, head: Browser, database: Database, workspace: Workspace
) -> None:
    mine, heads = make(amina), make(head)

    assert [each["token"] for each in listed(amina)] == [mine["token"]]
    assert [each["token"] for each in listed(head)] == [heads["token"], mine["token"]]
    assert amina.delete(PATH, token=heads["token"]).status_code == 404
    assert head.delete(PATH, token=mine["token"]).status_code == 204
    assert head.delete(PATH, token=mine["token"]).status_code == 404
    assert amina.delete(PATH, token="").status_code == 400
    assert listed(amina) == []
    assert using(amina, database, workspace, mine).get(LABELS).status_code == 403
    ended = head.get(EVENTS, resource="tokens", action="deleted").json()["results"]
    assert [(each["record"]["name"], each["user"]) for each in ended] == [(mine["token"], HEAD)]


def test_tokens_of_another_workspace_do_not_exist(
    amina: Browser, client: TestClient, database: Database, other_workspace: Workspace
) -> None:
    add_person(database, other_workspace, "chief@example.org", "administrator")
    chief, made = signed_in(client, "chief@example.org"), make(amina)

    assert listed(chief) == []
    assert chief.delete(PATH, token=made["token"]).status_code == 404
    assert len(listed(amina)) == 1


def test_a_token_makes_no_token(amina: Browser, database: Database, workspace: Workspace) -> None:
    api = using(amina, database, workspace, make(amina))

    assert api.post(PATH, {"name": "Another"}).status_code == 401


@pytest.mark.together
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": " "},
        {"name": "x" * 65},
        {"name": "A", "scope": "all"},
        {"name": "A", "areas": []},
        {"name": "A", "areas": ["money"]},
        {"name": "A", "expires_on": "2020-01-01T00:00:00Z"},
        {"name": "A", "expires_on": "tomorrow"},
        {"name": "A", "expires_on": "2027-02-29T00:00:00Z"},
        {"name": "A", "expires_on": "0000-01-01T00:00:00Z"},
        {"name": "A", "expires_on": "9999-12-28T23:59:59-1100"},
    ],
    ids=str,
)
def test_what_is_no_token_is_refused(amina: Browser, body: dict[str, Any]) -> None:
    assert amina.post(PATH, body).status_code == 400
    assert listed(amina) == []


def test_a_user_has_so_many_tokens(amina: Browser, database: Database) -> None:
    make(amina)
    with database.writing() as tx:
        row = {key: value for key, value in tx.execute(tokens.select()).mappings().one().items() if key != "id"}
        for number in range(TOKENS_PER_USER - 1):
            tx.execute(tokens.insert().values(**row | {"public": f"{number:012}"}))

    assert amina.post(PATH, {"name": "One more"}).status_code == 409
    with database.writing() as tx:
        tx.execute(update(tokens).where(tokens.c.public == f"{3:012}").values(revoked_on=tx.now))
    assert make(amina)["name"] == "Reports"
