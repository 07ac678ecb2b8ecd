"""`/api/v2/invitations.json` and accepting one: how people join a workspace."""

from collections.abc import Iterator
from datetime import timedelta

import pyotp
import pytest
from starlette.testclient import TestClient

from persistence.accounts.accounts import Ended, set_password
from persistence.accounts.invitations import invite as invite_by_command
from persistence.accounts.signing_in import make_link
from persistence.database import Database
from persistence.users import add_member, remove_member
from persistence.workspaces.records import Workspace
from relayboard.base.mail_server import MailServer
from relayboard.base.settings import Settings
from testbed.running import wait_until
from testbed.tokens import make_token
from tests.accounts import ACCOUNT, PASSWORD, QUICK, Browser, add_person, serving
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


def by_operator(database: Database, workspace: Workspace, settings: Settings, email: str = GRACE) -> str:
    """The secret of an invitation that an operator hands over."""
    with database.writing() as tx:
        made = invite_by_command(tx, workspace, email, "editor", "http://testserver", settings)
    return made.link.rpartition("/")[2]


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


@pytest.mark.together
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


class TestUnprovenAccounts:
    """An administrator invites an address that is not his, and opens the link himself."""

    THEFT = "the choice of the thief"

    @pytest.fixture
    def thief(self, head: Api, client: TestClient, clock: Clock) -> Browser:
        """The account of Grace with a password, a second factor, a session and a token that are not hers."""
        thief = Browser(client)
        accepted = thief.post(ACCEPT, {"invitation": invite(head), "password": self.THEFT})
        assert accepted.status_code == 201
        thief.headers["X-CSRF-Token"] = thief.get(ACCOUNT).json()["csrf_token"]
        act = "/api/v2/account_actions.json"
        made = thief.post(act, {"action": "set_up_two_factor", "password": self.THEFT}).json()
        clock.advance(seconds=30)
        code = pyotp.TOTP(made["secret"]).at(clock.moment)
        assert thief.post(act, {"action": "confirm_two_factor", "code": code}).status_code == 200
        self.token = thief.post("/api/v2/tokens.json", {"name": "Kept"}).json()["secret"]
        assert head.with_token(self.token).get(ACCOUNT).status_code == 200
        return thief

    def is_ended(self, thief: Browser, head: Api) -> bool:
        """Whether nothing that the thief set works any more."""
        wait_until(lambda: head.with_token(self.token).get(ACCOUNT).status_code == 403, "the API to forget the token")
        return (Browser(thief.client).sign_in(GRACE, self.THEFT).status_code, thief.get(ACCOUNT).status_code) == (
            403,
            401,
        )

    def test_what_was_set_ends_when_somebody_else_adds_the_address(
        self, thief: Browser, head: Api, database: Database, other_workspace: Workspace
    ) -> None:
        with database.writing() as tx:
            joined = add_member(tx, other_workspace.id, " GRACE@example.org", "editor")

        assert joined.ended == Ended(two_factor=True, sessions=1, tokens=1)
        assert self.is_ended(thief, head)
        with database.writing() as tx:
            assert add_member(tx, other_workspace.id, GRACE, "editor").ended is None
            set_password(tx, joined.id, QUICK.hash(PASSWORD))
        assert Browser(thief.client).sign_in(GRACE).status_code == 201

    def test_a_proven_link_needs_another_password_and_ends_the_rest(
        self,
        thief: Browser,
        head: Api,
        guest: Browser,
        database: Database,
        settings: Settings,
        other_workspace: Workspace,
    ) -> None:
        secret = by_operator(database, other_workspace, settings)

        refused = guest.post(ACCEPT, {"invitation": secret, "password": self.THEFT})
        accepted = guest.post(ACCEPT, {"invitation": secret, "password": PASSWORD})

        assert (refused.status_code, list(refused.json()), accepted.status_code) == (400, ["password"], 201)
        assert self.is_ended(thief, head)
        with database.writing() as tx:
            remove_member(tx, other_workspace.id, GRACE)
            assert add_member(tx, other_workspace.id, GRACE, "editor").ended is None

    def test_two_administrators_cannot_take_each_others_invitation(
        self, thief: Browser, database: Database, other_workspace: Workspace
    ) -> None:
        other_head = Api(
            thief.client, database, other_workspace, make_token(database, other_workspace, "administrator")
        )
        secret = invite(other_head)

        refused = Browser(thief.client).post(ACCEPT, {"invitation": secret, "password": PASSWORD})

        assert refused.status_code == 400
        assert thief.get(ACCOUNT).status_code == 200

    def test_a_workspace_that_invites_again_lets_the_guest_choose_anew(
        self, thief: Browser, head: Api, guest: Browser, database: Database, workspace: Workspace
    ) -> None:
        with database.writing() as tx:
            remove_member(tx, workspace.id, GRACE)

        accepted = guest.post(ACCEPT, {"invitation": invite(head), "password": PASSWORD})

        assert accepted.status_code == 201
        assert self.is_ended(thief, head)

    def test_a_mailed_link_proves_the_mailbox_and_ends_what_others_set(
        self, thief: Browser, head: Api, guest: Browser, database: Database, settings: Settings
    ) -> None:
        with database.writing() as tx:
            made = make_link(tx, GRACE, "http://testserver", settings.secret_key)
        assert made is not None

        opened = guest.post("/api/v2/link_sessions.json", {"link": made.url.rpartition("/")[2]})

        assert opened.status_code == 201
        assert guest.get(ACCOUNT).json()["has_password"] is False
        assert self.is_ended(thief, head)

    def test_a_password_that_the_thief_changes_stays_unproven(
        self, thief: Browser, head: Api, database: Database, other_workspace: Workspace
    ) -> None:
        changed = {"old_password": self.THEFT, "password": "another choice of the thief"}
        assert thief.post(ACCOUNT, changed).status_code == 200

        with database.writing() as tx:
            assert add_member(tx, other_workspace.id, GRACE, "editor").ended is not None
        assert Browser(thief.client).sign_in(GRACE, changed["password"]).status_code == 403

    def test_an_invitation_accepted_while_the_address_is_added_elsewhere_is_refused(
        self, head: Api, guest: Browser, database: Database, other_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The address is added between the checks and the unit of work that joins."""
        hash_it = QUICK.hash

        def add_meanwhile(password: str) -> str:
            with database.writing() as tx:
                add_member(tx, other_workspace.id, GRACE, "editor")
            return hash_it(password)

        monkeypatch.setattr(QUICK, "hash", add_meanwhile)
        response = guest.post(ACCEPT, {"invitation": invite(head), "password": PASSWORD})

        assert response.status_code == 400
        assert guest.cookies == {}


def test_an_address_is_one_account_in_every_form_of_unicode(
    head: Api, guest: Browser, database: Database, workspace: Workspace
) -> None:
    composed, decomposed, kelvin = "josé@example.org", "JOSE\u0301@example.org", "grace.\u212aing@example.org"
    assert guest.post(ACCEPT, {"invitation": invite(head, composed), "password": PASSWORD}).status_code == 201

    assert head.post(PATH, {"email": decomposed, "role": "agent"}).status_code == 400
    assert head.post(PATH, {"email": kelvin, "role": "agent"}).json()["email"] == "grace.King@example.org"
    assert Browser(guest.client).sign_in(decomposed).status_code == 201


def test_a_workspace_has_at_most_a_hundred_open_invitations(
    head: Api, database: Database, workspace: Workspace, settings: Settings
) -> None:
    with database.writing() as tx:
        for number in range(99):
            invite_by_command(tx, workspace, f"g{number}@example.org", "agent", "http://testserver", settings)
    invite(head, "g99@example.org")

    assert head.post(PATH, {"email": GRACE, "role": "agent"}).status_code == 409
    invite(head, "g7@example.org")
