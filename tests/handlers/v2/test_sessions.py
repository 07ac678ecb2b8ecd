"""`/api/v2/sessions.json`: signing in, and the browsers in which somebody is signed in."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from persistence.accounts.accounts import forgive_account
from persistence.database import Database
from persistence.tables.accounts import sign_in
from persistence.users import remove_member
from persistence.workspaces.records import Workspace
from relayboard.base.settings import Settings
from testbed.running import wait_until
from testbed.set_by_name import by_name
from tests.accounts import ACCOUNT, EMAIL, LABELS, PASSWORD, SESSIONS, Browser, add_person, serving
from tests.api import Api
from tests.conftest import Clock

HOUR = timedelta(hours=1)


@pytest.fixture
def client(database: Database, settings: Settings, workspace: Workspace) -> Iterator[TestClient]:
    add_person(database, workspace)
    with serving(database, settings) as client:
        yield client


@pytest.fixture
def browser(client: TestClient) -> Browser:
    return Browser(client)


@pytest.fixture
def amina(browser: Browser) -> Browser:
    """A browser in which Amina is signed in."""
    assert browser.sign_in().status_code == 201
    return browser


def test_a_password_signs_in_and_the_cookie_is_out_of_reach_of_pages(browser: Browser) -> None:
    response = browser.post(SESSIONS, {"email": EMAIL.upper(), "password": PASSWORD})

    assert response.status_code == 201
    assert (response.json()["method"], response.json()["current"]) == ("password", True)
    cookie, known = response.headers.get_list("Set-Cookie")
    assert cookie.startswith("relayboard_session=rbs_")
    assert {"Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=1209600"} == set(cookie.split("; ")[1:])
    assert known.startswith("relayboard_browser=")
    assert {"HttpOnly", "SameSite=Strict"} < set(known.split("; ")[1:])
    assert browser.get(LABELS).status_code == 200


def test_over_https_the_cookie_is_secure(database: Database, settings: Settings, workspace: Workspace) -> None:
    add_person(database, workspace)
    with serving(database, settings, base_url="https://sms.example.org") as client:
        here = Browser(client)
        here.headers["Origin"] = "https://sms.example.org"
        response = here.post(SESSIONS, {"email": EMAIL, "password": PASSWORD})

    assert [each.endswith("; Secure") for each in response.headers.get_list("Set-Cookie")] == [True, True]


@pytest.mark.together
@pytest.mark.parametrize(
    ("email", "password"), [(EMAIL, "not this one"), ("nobody@example.org", PASSWORD), ("joel@example.org", "")]
)
def test_whatever_is_wrong_the_answer_is_the_same(
    browser: Browser, database: Database, workspace: Workspace, email: str, password: str
) -> None:
    add_person(database, workspace, "joel@example.org", password=None)

    response = browser.sign_in(email, password)

    assert (response.status_code, response.json()) == (
        403,
        {"detail": "The e-mail address, the password or the code is not right."},
    )
    assert "Set-Cookie" not in response.headers


def test_a_user_without_a_workspace_cannot_sign_in_and_loses_the_session_at_once(
    amina: Browser, database: Database, workspace: Workspace
) -> None:
    add_person(database, workspace, "head@example.org", "administrator")

    with database.writing() as tx:
        remove_member(tx, workspace.id, EMAIL)

    assert amina.get(LABELS).status_code == 401
    assert amina.sign_in().status_code == 403


def test_changes_by_cookie_need_the_csrf_token(amina: Browser) -> None:
    body, path = {"name": "Urgent"}, LABELS

    without = amina.post(path, body, {"X-CSRF-Token": ""})
    wrong = amina.post(path, body, {"X-CSRF-Token": "0" * 64})
    right = amina.post(path, body)

    assert (without.status_code, wrong.status_code, right.status_code) == (403, 403, 201)


@pytest.mark.together
@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}],
    ids=str,
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_page_of_another_origin_is_refused(amina: Browser, headers: dict[str, str], method: str) -> None:
    assert amina.ask(method, LABELS, {"name": "X"} if method == "POST" else None, headers).status_code == 403


def test_a_page_of_another_origin_cannot_sign_anybody_in(browser: Browser) -> None:
    assert browser.post(SESSIONS, {"email": EMAIL, "password": PASSWORD}, {"Origin": "https://evil.example"}).is_error
    assert browser.cookies == {}


def test_a_token_goes_before_a_cookie_and_needs_no_csrf_token(amina: Browser, api: Api) -> None:
    headers = {"Authorization": f"Token {api.token}", "X-CSRF-Token": "", "Origin": "https://elsewhere.example"}

    assert amina.post(LABELS, {"name": "Urgent"}, headers).status_code == 201
    assert amina.get(LABELS, {"Authorization": "Token rb_000000000000_wrong"}).status_code == 403


def test_personal_operations_need_the_cookie(api: Api, client: TestClient) -> None:
    statuses = [api.get(SESSIONS), api.delete(SESSIONS), api.post(ACCOUNT, {"first_name": "X"})]

    assert {each.status_code for each in statuses} == {401}
    assert api.get(ACCOUNT).json()["csrf_token"] is None


def test_signing_in_gives_another_cookie_and_ends_the_former_session(amina: Browser, client: TestClient) -> None:
    former = {"relayboard_session": amina.cookies["relayboard_session"]}

    amina.sign_in()

    assert amina.cookies["relayboard_session"] != former["relayboard_session"]
    thief = Browser(client)
    thief.cookies = former
    assert thief.get(LABELS).status_code == 401
    assert len(amina.get(SESSIONS).json()["results"]) == 1


def test_a_cookie_that_somebody_else_made_up_stays_worthless(browser: Browser) -> None:
    browser.cookies = {"relayboard_session": "rbs_0123456789abcdef_planted"}

    browser.sign_in()

    assert browser.cookies["relayboard_session"] != "rbs_0123456789abcdef_planted"


@pytest.mark.together
@pytest.mark.parametrize("cookie", ["", "x", "rbs_", "rbs_0123456789abcdef_wrong", "rbs_é", "rb_0123456789ab_x"])
def test_a_cookie_that_is_not_ours_is_a_401(browser: Browser, cookie: str) -> None:
    response = browser.get(LABELS, {b"Cookie": f"other=1; relayboard_session={cookie}; =;".encode()})

    assert response.status_code == 401


def test_sessions_are_listed_and_ended_from_elsewhere(amina: Browser, client: TestClient) -> None:
    phone = Browser(client)
    phone.headers["User-Agent"] = "Phone"
    phone.sign_in()

    listed = amina.get(SESSIONS).json()["results"]

    assert [(each["user_agent"], each["current"]) for each in listed] == [("Phone", False), ("testclient", True)]
    assert amina.delete(SESSIONS, uuid=listed[0]["uuid"]).status_code == 204
    assert (phone.get(LABELS).status_code, amina.get(LABELS).status_code) == (401, 200)


def test_signing_out_ends_the_session_and_deletes_the_cookie(amina: Browser, client: TestClient) -> None:
    other_tab = Browser(client)
    other_tab.cookies, other_tab.headers = dict(amina.cookies), amina.headers

    response = amina.delete(SESSIONS)

    assert (response.status_code, list(amina.cookies)) == (204, ["relayboard_browser"])
    assert other_tab.post(LABELS, {"name": "X"}).status_code == 401


def test_two_tabs_share_a_session_and_its_csrf_token(amina: Browser, client: TestClient) -> None:
    other_tab = Browser(client)
    other_tab.cookies = dict(amina.cookies)
    other_tab.headers["X-CSRF-Token"] = other_tab.get(ACCOUNT).json()["csrf_token"]

    assert [tab.post(LABELS, {"name": name}).status_code for tab, name in ((amina, "A"), (other_tab, "B"))] == [201] * 2


def test_nobody_ends_the_sessions_of_others(amina: Browser, database: Database, workspace: Workspace) -> None:
    add_person(database, workspace, "joel@example.org")
    joel = Browser(amina.client)
    joel.sign_in("joel@example.org")
    mine = amina.get(SESSIONS).json()["results"][0]["uuid"]

    assert joel.delete(SESSIONS, uuid=mine).status_code == 404
    assert [each["uuid"] for each in joel.get(SESSIONS).json()["results"]] != [mine]
    assert amina.get(LABELS).status_code == 200


def wait_until_seen(database: Database, clock: Clock) -> None:
    """Wait for the note of the last request: the thread that stores it reads the clock, which a test moves."""

    def is_noted() -> bool:
        with database.reading() as tx:
            return tx.execute(select(sign_in.c.seen_on)).scalar_one() > clock.moment - HOUR

    wait_until(is_noted, "the note that the browser was seen")


def test_a_session_without_requests_ends_by_itself(amina: Browser, clock: Clock, database: Database) -> None:
    clock.advance(hours=23)
    assert amina.get(LABELS).status_code == 200
    wait_until_seen(database, clock)
    clock.advance(hours=48)

    assert amina.get(LABELS).status_code == 401


def test_a_session_ends_after_two_weeks_though_it_was_used_every_day(
    amina: Browser, clock: Clock, database: Database
) -> None:
    for _ in range(15):
        clock.advance(hours=22)
        assert amina.get(LABELS).status_code == 200
        wait_until_seen(database, clock)
    clock.advance(hours=22)

    assert amina.get(LABELS).status_code == 401


@pytest.mark.parametrize(
    ("given", "still_valid", "ended"),
    [
        ({"SIGN_IN_IDLE_DAYS": "0.25"}, 5, 7),
        ({"SIGN_IN_DAYS": "0.5", "SIGN_IN_IDLE_DAYS": "3"}, 11, 2),
    ],
    ids=["idle", "altogether"],
)
def test_an_operator_sets_how_long_sessions_last(
    database: Database,
    settings: Settings,
    workspace: Workspace,
    clock: Clock,
    given: dict[str, str],
    still_valid: int,
    ended: int,
) -> None:
    add_person(database, workspace)
    with serving(database, settings, **by_name(**given)) as client:
        browser = Browser(client)
        browser.sign_in()
        clock.advance(hours=still_valid)
        assert browser.get(LABELS).status_code == 200
        wait_until_seen(database, clock)
        clock.advance(hours=ended)

        assert browser.get(LABELS).status_code == 401


class TestLimits:
    @pytest.fixture
    def attempt(self, database: Database, settings: Settings, workspace: Workspace) -> Iterator[Callable[..., Any]]:
        """Tries to sign in at two nodes in turn: at most three times per account and address, five times per address
        and eight times per account, in a browser that nobody knows."""
        add_person(database, workspace)
        limits = by_name(SIGN_IN_LIMIT="3/hour", ADDRESS_SIGN_IN_LIMIT="5/hour", ACCOUNT_SIGN_IN_LIMIT="8/hour")
        with serving(database, settings, **limits) as one, serving(database, settings, **limits) as two:
            nodes = [Browser(one), Browser(two)]

            def attempt(email: str = EMAIL, password: str = "wrong", address: str = "192.0.2.1", **more: str) -> Any:
                nodes.reverse()
                nodes[0].client._transport.client = (address, 50_000)  # type: ignore[attr-defined]
                nodes[0].cookies = dict(more)
                return nodes[0].post(SESSIONS, {"email": email, "password": password})

            yield attempt

    @pytest.mark.parametrize("email", [EMAIL, "nobody@example.org"])
    def test_an_account_has_so_many_attempts_on_all_nodes_together(
        self, attempt: Callable[..., Any], clock: Clock, email: str
    ) -> None:
        assert [attempt(email).status_code for _ in range(4)] == [403, 403, 403, 429]
        refused = attempt(email, PASSWORD)
        assert refused.status_code == 429
        assert 0 < int(refused.headers["Retry-After"]) <= 3600
        clock.advance(hours=1)
        assert attempt(EMAIL, PASSWORD).status_code == 201

    def test_guesses_from_elsewhere_lock_nobody_out(self, attempt: Callable[..., Any]) -> None:
        assert [attempt().status_code for _ in range(4)] == [403, 403, 403, 429]

        assert attempt(EMAIL, PASSWORD, "192.0.2.2").status_code == 201

    def test_an_account_that_is_tried_from_everywhere_is_slow_but_not_closed(
        self, attempt: Callable[..., Any], clock: Clock
    ) -> None:
        guesses = [attempt(address=f"192.0.2.{number}").status_code for number in range(9)]
        refused = attempt(EMAIL, PASSWORD, "198.51.100.1")

        assert (guesses, refused.status_code) == ([403] * 9, 429)
        assert int(refused.headers["Retry-After"]) <= 450
        clock.advance(seconds=450)
        assert attempt(EMAIL, PASSWORD, "198.51.100.1").status_code == 201

    def test_a_known_browser_gets_through(self, attempt: Callable[..., Any]) -> None:
        known = dict(attempt(EMAIL, PASSWORD).cookies)["relayboard_browser"]
        for number in range(9):
            attempt(address=f"192.0.2.{number}")
        stranger = attempt("joel@example.org", address="192.0.2.1", relayboard_browser=known)

        right = attempt(EMAIL, PASSWORD, relayboard_browser=known)
        guesses = [attempt(relayboard_browser=known).status_code for _ in range(4)]

        assert (stranger.status_code, right.status_code, guesses) == (403, 201, [403, 403, 403, 429])

    def test_what_an_operator_sets_lets_the_person_in_at_once(
        self, attempt: Callable[..., Any], database: Database
    ) -> None:
        assert [attempt().status_code for _ in range(4)][-1] == 429
        assert [attempt(f"{name}@example.org").status_code for name in "abc"][-1] == 429

        with database.writing() as tx:
            forgive_account(tx, EMAIL.upper())

        assert attempt(EMAIL, PASSWORD).status_code == 201

    def test_addresses_of_one_network_of_ipv6_are_one(self, attempt: Callable[..., Any]) -> None:
        guesses = [attempt(address=f"2001:db8:1:2::{number}").status_code for number in range(4)]

        assert (guesses, attempt(address="2001:db8:1:3::1").status_code) == ([403, 403, 403, 429], 403)

    def test_an_address_has_so_many_attempts_for_all_accounts(self, attempt: Callable[..., Any]) -> None:
        statuses = [attempt(f"{name}@example.org").status_code for name in "abcdef"]

        assert statuses == [403] * 5 + [429]

    def test_who_signs_in_is_not_counted(self, attempt: Callable[..., Any]) -> None:
        right = partial(attempt, EMAIL, PASSWORD)

        assert [each().status_code for each in (attempt, attempt, right, attempt, attempt, right)] == [
            *(403, 403, 201),
            *(403, 403, 201),
        ]
