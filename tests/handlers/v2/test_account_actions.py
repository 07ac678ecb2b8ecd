"""`/api/v2/account_actions.json`: two-factor authentication, from setting it up to the last recovery code."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pyotp
import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from persistence.database import Database
from persistence.workspaces.records import Workspace
from relayboard.base.settings import RateLimit, Settings
from tests.accounts import ACCOUNT, EMAIL, PASSWORD, Browser, add_person, serving
from tests.conftest import Clock

ACTIONS = "/api/v2/account_actions.json"


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


class Phone:
    """An authenticator app."""

    def __init__(self, secret: str, clock: Clock) -> None:
        self.totp, self.clock = pyotp.TOTP(secret), clock

    def code(self) -> str:
        """The code of the next half minute: each is accepted once."""
        self.clock.advance(seconds=30)
        return self.totp.at(self.clock.moment)


def act(browser: Browser, action: str, **given: str) -> Any:
    return browser.post(ACTIONS, {"action": action, **given})


def switch_on(browser: Browser, clock: Clock) -> tuple[Phone, list[str]]:
    made = act(browser, "set_up_two_factor", password=PASSWORD).json()
    phone = Phone(made["secret"], clock)
    assert made["secret"] in made["uri"]
    return phone, act(browser, "confirm_two_factor", code=phone.code()).json()["recovery_codes"]


def test_signing_in_then_needs_a_code_and_each_code_only_once(amina: Browser, client: TestClient, clock: Clock) -> None:
    phone, _ = switch_on(amina, clock)
    code = phone.code()

    statuses = [Browser(client).sign_in(**given).status_code for given in ({}, {"code": "000000"}, {"code": code})]
    again = Browser(client).sign_in(code=code)

    assert (statuses, again.status_code) == ([403, 403, 201], 403)
    assert again.json() == Browser(client).sign_in(password="wrong").json()
    asked = Browser(client).sign_in()
    assert asked.json() == {"detail": "Enter the code of your authenticator app, or a recovery code."}
    assert asked.extensions["code"] == "second_factor_required"
    account = amina.get(ACCOUNT).json()
    assert (account["two_factor"], account["recovery_codes_left"]) == (True, 10)


def test_a_recovery_code_stands_in_for_one_code(amina: Browser, client: TestClient, clock: Clock) -> None:
    _, recovery = switch_on(amina, clock)

    assert [Browser(client).sign_in(code=recovery[0]).status_code for _ in range(2)] == [201, 403]
    assert amina.get(ACCOUNT).json()["recovery_codes_left"] == 9


def test_new_recovery_codes_end_the_former_ones(amina: Browser, client: TestClient, clock: Clock) -> None:
    phone, former = switch_on(amina, clock)

    renewed = act(amina, "renew_recovery_codes", code=phone.code()).json()["recovery_codes"]

    assert [Browser(client).sign_in(code=code).status_code for code in (former[1], renewed[1])] == [403, 201]


def test_it_counts_only_once_it_is_confirmed(amina: Browser, client: TestClient) -> None:
    act(amina, "set_up_two_factor", password=PASSWORD)

    assert Browser(client).sign_in().status_code == 201
    assert act(amina, "confirm_two_factor", code="000000").json() == {
        "non_field_errors": ["This code is not right, or it was used before."]
    }


def test_switching_it_off_needs_password_and_code(amina: Browser, client: TestClient, clock: Clock) -> None:
    phone, recovery = switch_on(amina, clock)

    refused = [
        act(amina, "switch_off_two_factor", password="wrong", code=phone.code()),
        act(amina, "switch_off_two_factor", password=PASSWORD, code="000000"),
        act(amina, "switch_off_two_factor", password=PASSWORD),
    ]
    done = act(amina, "switch_off_two_factor", password=PASSWORD, code=recovery[3])

    assert [list(each.json()) for each in refused] == [["password"], ["non_field_errors"], ["non_field_errors"]]
    assert done.status_code == 200
    assert Browser(client).sign_in().status_code == 201


def test_what_does_not_fit_the_state_is_refused(amina: Browser, clock: Clock) -> None:
    off = [act(amina, action, password=PASSWORD, code="1") for action in ("confirm_two_factor", "renew_recovery_codes")]
    phone, _ = switch_on(amina, clock)
    on = [act(amina, "set_up_two_factor", password=PASSWORD), act(amina, "confirm_two_factor", code=phone.code())]

    assert [each.status_code for each in off + on] == [400] * 4
    assert act(amina, "set_up_two_factor", password="wrong").status_code == 400


def test_the_secret_is_encrypted_in_the_database(amina: Browser, database: Database) -> None:
    secret = act(amina, "set_up_two_factor", password=PASSWORD).json()["secret"]

    with database.reading() as tx:
        stored = tx.connection.execute(text("SELECT totp_secret FROM account")).scalar_one()
    assert stored and secret not in stored


def test_every_code_counts_wherever_it_is_tried(
    database: Database, settings: Settings, workspace: Workspace, clock: Clock
) -> None:
    """The thief has a session and the password, and guesses the second factor at each door in turn."""
    add_person(database, workspace)
    with serving(database, settings, sign_in_limit=RateLimit(6, timedelta(hours=1))) as client:
        owner, thief = Browser(client), Browser(client)
        owner.sign_in()
        switch_on(owner, clock)
        thief.cookies = {"relayboard_session": owner.cookies["relayboard_session"]}
        thief.headers = dict(owner.headers)

        guesses: list[int] = []
        for number in range(3):
            thief.post(ACCOUNT, {"password": PASSWORD, "old_password": PASSWORD})
            doors = [
                act(thief, "switch_off_two_factor", password=PASSWORD, code=f"00000{number}"),
                act(thief, "renew_recovery_codes", code=f"00000{number}"),
                Browser(client).sign_in(code=f"00000{number}"),
            ]
            guesses += [each.status_code for each in doors]

    assert guesses == [400, 400, 403, 400, 400, 403, 400, 429, 429]


def test_a_code_that_is_only_missing_uses_no_attempt_with_codes(
    database: Database, settings: Settings, workspace: Workspace, clock: Clock
) -> None:
    add_person(database, workspace)
    limits = {"sign_in_limit": RateLimit(3, timedelta(hours=1))}
    with serving(database, settings, **limits) as client:
        owner = Browser(client)
        owner.sign_in()
        phone, _ = switch_on(owner, clock)

        statuses = [Browser(client).sign_in(**given).status_code for given in ({}, {}, {"code": phone.code()})]

    assert statuses == [403, 403, 201]


def test_a_stolen_cookie_does_not_help_to_guess_the_password(
    database: Database, settings: Settings, workspace: Workspace
) -> None:
    add_person(database, workspace)
    with serving(database, settings, sign_in_limit=RateLimit(2, timedelta(hours=1))) as client:
        thief = Browser(client)
        thief.sign_in()
        guesses = [thief.post(ACCOUNT, {"password": "a" * 10 + EMAIL, "old_password": "x"}) for _ in range(3)]

    assert [each.status_code for each in guesses] == [400, 400, 429]
