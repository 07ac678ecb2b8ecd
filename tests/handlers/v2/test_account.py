"""`/api/v2/account.json`: who is signed in, and what people change of their own account."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from persistence.database import Database
from persistence.users import change_role, remove_member
from persistence.workspaces.records import Workspace
from relayboard.base.settings import Settings
from testbed.tokens import make_token
from tests.accounts import ACCOUNT, EMAIL, LABELS, PASSWORD, SESSIONS, Browser, add_person, serving
from tests.api import Api

NEW = "another river, another march"


@pytest.fixture
def client(database: Database, settings: Settings, workspace: Workspace) -> Iterator[TestClient]:
    add_person(database, workspace)
    with serving(database, settings) as client:
        yield client


@pytest.fixture
def amina(client: TestClient) -> Browser:
    browser = Browser(client)
    browser.sign_in()
    return browser


def test_the_account_says_who_is_signed_in(amina: Browser, workspace: Workspace) -> None:
    found = amina.get(ACCOUNT).json()

    mine = {"uuid": workspace.uuid, "name": workspace.name, "role": "editor", "away": False, "mail_of": "none"}
    assert (found["user"]["email"], found["workspace"], found["workspaces"]) == (EMAIL, mine, [mine])
    assert (found["has_password"], found["two_factor"], found["recovery_codes_left"]) == (True, False, 0)


def test_a_token_of_somebody_who_was_just_removed_shows_no_account(
    client: TestClient, database: Database, workspace: Workspace
) -> None:
    viewer = Api(client, database, workspace, make_token(database, workspace, "viewer"))
    email = viewer.get(ACCOUNT).json()["user"]["email"]

    with database.writing() as tx:
        remove_member(tx, workspace.id, email)

    assert viewer.get(ACCOUNT).status_code in (401, 403)  # known credentials are kept for a second


def test_names_are_changed_each_by_itself(amina: Browser) -> None:
    amina.post(ACCOUNT, {"first_name": "Amina"})

    changed = amina.post(ACCOUNT, {"last_name": "Wanjiru"}).json()["user"]

    assert changed["name"] == "Amina Wanjiru"


def test_a_new_password_ends_the_other_sessions(amina: Browser, client: TestClient) -> None:
    elsewhere = Browser(client)
    elsewhere.sign_in()

    response = amina.post(ACCOUNT, {"old_password": PASSWORD, "password": NEW})

    assert response.status_code == 200
    assert (amina.get(LABELS).status_code, elsewhere.get(LABELS).status_code) == (200, 401)
    assert [Browser(client).sign_in(password=each).status_code for each in (PASSWORD, NEW)] == [403, 201]


@pytest.mark.together
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"password": NEW}, "old_password"),
        ({"password": NEW, "old_password": "wrong"}, "old_password"),
        ({"password": "too short", "old_password": PASSWORD}, "password"),
        ({"password": EMAIL, "old_password": PASSWORD}, "password"),
        ({"password": "aaaaaaaaaabb", "old_password": PASSWORD}, "password"),
        ({"password": "x" * 201, "old_password": PASSWORD}, "password"),
        ({"workspace": "6f1b0d6e-4f36-4d0b-9d5c-2f5f1f3c8a11"}, "workspace"),
        ({"first_name": "x" * 151}, "first_name"),
    ],
)
def test_what_does_not_fit_is_refused_by_field(amina: Browser, body: dict[str, str], field: str) -> None:
    response = amina.post(ACCOUNT, body)

    assert (response.status_code, list(response.json())) == (400, [field])


class TestTwoWorkspaces:
    @pytest.fixture(autouse=True)
    def of_both(self, database: Database, workspace: Workspace, other_workspace: Workspace, client: TestClient) -> None:
        add_person(database, other_workspace, role="viewer")

    def test_the_header_names_the_workspace_of_a_request(self, amina: Browser, other_workspace: Workspace) -> None:
        there = {"X-Workspace": other_workspace.uuid}

        assert amina.post(LABELS, {"name": "Here"}).status_code == 201
        assert amina.post(LABELS, {"name": "There"}, there).status_code == 403
        assert amina.get(LABELS, there).json()["results"] == []
        assert amina.get(ACCOUNT, there).json()["workspace"]["role"] == "viewer"

    def test_the_chosen_workspace_is_meant_from_then_on(
        self, amina: Browser, client: TestClient, other_workspace: Workspace
    ) -> None:
        chosen = amina.post(ACCOUNT, {"workspace": other_workspace.uuid.upper()}).json()["workspace"]["uuid"]
        later = Browser(client)
        later.sign_in()

        here = [browser.get(ACCOUNT).json()["workspace"]["uuid"] for browser in (amina, later)]
        assert [chosen, *here] == [other_workspace.uuid] * 3

    @pytest.mark.together
    @pytest.mark.parametrize("uuid", ["6f1b0d6e-4f36-4d0b-9d5c-2f5f1f3c8a11", "x"])
    def test_a_workspace_of_others_is_refused(self, amina: Browser, uuid: str) -> None:
        assert amina.get(LABELS, {"X-Workspace": uuid}).status_code == 403

    def test_another_role_counts_at_once(self, amina: Browser, database: Database, workspace: Workspace) -> None:
        with database.writing() as tx:
            change_role(tx, workspace.id, EMAIL, "viewer")

        assert amina.post(LABELS, {"name": "X"}).status_code == 403


@pytest.mark.parametrize(
    ("role", "reads", "writes"),
    [
        ("administrator", 200, 201),
        ("editor", 200, 201),
        ("viewer", 200, 403),
        ("agent", 403, 403),
        ("surveyor", 403, 403),
    ],
)
def test_a_browser_may_what_its_role_may(
    database: Database, settings: Settings, workspace: Workspace, role: str, reads: int, writes: int
) -> None:
    add_person(database, workspace, role=role)
    with serving(database, settings) as client:
        browser = Browser(client)
        browser.sign_in()

        assert browser.get(LABELS).status_code == reads
        assert browser.post(LABELS, {"name": "Urgent"}).status_code == writes
        assert (browser.get(ACCOUNT).status_code, browser.get(SESSIONS).status_code) == (200, 200)
