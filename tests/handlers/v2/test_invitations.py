"""`/api/v2/invitations.json` and accepting one: how people join a workspace."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from starlette.testclient import TestClient

from persistence.database import Database
from persistence.workspaces import Workspace
from relayboard.base.mail_server import MailServer
from relayboard.base.settings import Settings
from testbed.tokens import make_token
from tests.accounts import ACCOUNT, PASSWORD, Browser, add_person, serving
from tests.api import Api
from tests.conftest import Clock

PATH, ACCEPT = "/api/v2/invitations.json", "/api/v2/invitation_sessions.json"
GRACE = "grace@example.org"
MAIL = MailServer("127.0.0.1", 9, "relayboard@example.org", "none")


@pytest.fixture
def client(database: Database, settings: Settings) -> Iterator[TestClient]:
    with serving(database, settings) as client:
        yield client


@pytest.fixture
def head(client: TestClient, database: Database, workspace: Workspace) -> Api:
    return Api(client, database, workspace, make_token(database, workspace, "administrator"))


@pytest.fixture
def guest(client: TestClient) -> Browser:
    return Browser(client)


def invite(head: Api, email: str = GRACE, role: str = "agent") -> str:
    """The secret of a new invitation."""
    response = head.post(PATH, {"email": email, "role": role})
    assert response.status_code == 201, response.text
    address, _, secret = response.json()["link"].partition("/#/invitation/")
    assert address == "http://testserver"
    return str(secret)


def test_somebody_new_chooses_a_password_and_is_signed_in(head: Api, guest: Browser) -> None:
    given = {"invitation": invite(head), "password": PASSWORD, "first_name": "Grace"}

    accepted = guest.post(ACCEPT, given)

    assert (accepted.status_code, accepted.json()["method"]) == (201, "invitation")
    account = guest.get(ACCOUNT).json()
    assert (account["user"]["name"], account["workspace"]["role"]) == ("Grace", "agent")
    assert Browser(guest.client).sign_in(GRACE).status_code == 201
    assert guest.post(ACCEPT, given).status_code == 403
    assert head.results(PATH) == []


def test_somebody_with_a_password_gives_it(
    head: Api, guest: Browser, database: Database, other_workspace: Workspace
) -> None:
    add_person(database, other_workspace, GRACE)
    secret = invite(head)

    statuses = [
        guest.post(ACCEPT, {"invitation": secret, "password": each}).status_code
        for each in ("another long sentence", PASSWORD)
    ]

    assert statuses == [403, 201]
    assert len(guest.get(ACCOUNT).json()["workspaces"]) == 2


def test_who_invites_does_not_get_into_an_account_of_another_workspace(
    head: Api, guest: Browser, database: Database, other_workspace: Workspace
) -> None:
    add_person(database, other_workspace, GRACE, password=None)

    response = guest.post(ACCEPT, {"invitation": invite(head), "password": "the choice of the inviter"})

    assert response.status_code == 400
    assert guest.cookies == {}


def test_with_a_mail_server_only_the_mailbox_gets_the_link(
    database: Database, settings: Settings, workspace: Workspace
) -> None:
    with serving(database, settings, smtp_url=MAIL) as client:
        head = Api(client, database, workspace, make_token(database, workspace, "administrator"))

        assert head.post(PATH, {"email": GRACE, "role": "agent"}).json()["link"] is None


def test_open_invitations_are_listed_and_withdrawn(head: Api, guest: Browser) -> None:
    secret = invite(head)
    (listed,) = head.results(PATH)

    assert (listed["email"], listed["role"], "link" in listed) == (GRACE, "agent", False)
    assert listed["invited_by"].startswith("administrator@")
    assert head.delete(PATH, uuid=listed["uuid"]).status_code == 204
    assert guest.post(ACCEPT, {"invitation": secret, "password": PASSWORD}).status_code == 403


def test_a_second_invitation_ends_the_first(head: Api, guest: Browser) -> None:
    first, second = invite(head), invite(head, GRACE.upper(), "viewer")

    statuses = [guest.post(ACCEPT, {"invitation": each, "password": PASSWORD}).status_code for each in (first, second)]

    assert statuses == [403, 201]


def test_an_invitation_lasts_seven_days(head: Api, guest: Browser, clock: Clock) -> None:
    secret = invite(head)
    clock.moment += timedelta(days=7)

    assert head.results(PATH) == []
    assert guest.post(ACCEPT, {"invitation": secret, "password": PASSWORD}).status_code == 403


@pytest.mark.parametrize("secret", ["", "rbi_", "rbi_0123456789abcdef_x", "rbs_0123456789abcdef_x", "é"])
def test_what_is_no_invitation_is_refused(guest: Browser, workspace: Workspace, secret: str) -> None:
    assert guest.post(ACCEPT, {"invitation": secret, "password": PASSWORD}).status_code == 403


def test_a_member_or_a_bad_address_cannot_be_invited(head: Api, database: Database, workspace: Workspace) -> None:
    add_person(database, workspace, GRACE)

    refused = [head.post(PATH, {"email": email, "role": "agent"}) for email in (GRACE, "not an address")]

    assert [(each.status_code, list(each.json())) for each in refused] == [(400, ["email"])] * 2


def test_a_weak_password_does_not_use_an_invitation_up(head: Api, guest: Browser) -> None:
    secret = invite(head)

    weak = guest.post(ACCEPT, {"invitation": secret, "password": "short"})

    assert (weak.status_code, list(weak.json())) == (400, ["password"])
    assert guest.post(ACCEPT, {"invitation": secret, "password": PASSWORD}).status_code == 201


@pytest.mark.parametrize("role", ["editor", "viewer", "agent", "surveyor"])
def test_only_administrators_invite(head: Api, database: Database, workspace: Workspace, role: str) -> None:
    other = head.with_token(make_token(database, workspace, role))

    assert [other.get(PATH).status_code, other.post(PATH, {"email": GRACE, "role": role}).status_code] == [403, 403]


def test_a_workspace_has_at_most_a_hundred_open_invitations(head: Api) -> None:
    for number in range(100):
        invite(head, f"g{number}@example.org")

    assert head.post(PATH, {"email": GRACE, "role": "agent"}).status_code == 409
    invite(head, "g7@example.org")
