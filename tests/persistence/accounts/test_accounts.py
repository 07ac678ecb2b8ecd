"""How often somebody may try to sign in.

E-mail addresses of people in their one form.
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from persistence.accounts.accounts import (
    Visitor,
    check_email,
    count_attempt,
    email_key,
    forgive_attempts,
    remember_browser,
)
from persistence.database import Database
from persistence.errors import InvalidInput
from relayboard.base.settings import RateLimit, load_settings

HERE = "192.0.2.1"


def test_a_success_gives_whoever_tried_the_whole_limit_back_and_the_ip_address_one_attempt(database: Database) -> None:
    limits = load_settings()
    few, many = replace(limits.sign_in_limit, requests=3), replace(limits.address_sign_in_limit, requests=5)
    settings = replace(limits, sign_in_limit=few, address_sign_in_limit=many)
    ada, ben = Visitor("ada@example.org", HERE), Visitor("ben@example.org", "192.0.2.2")
    with database.writing() as tx:
        count_attempt(tx, settings, ada)
        forgive_attempts(tx, settings, ada)
        left = [count_attempt(tx, settings, Visitor(f"{number}@example.org", HERE)) for number in range(6)]
        assert [each.is_granted for each in left] == [True] * 5 + [False]

        count_attempt(tx, settings, ben)
        count_attempt(tx, settings, ben)
        forgive_attempts(tx, settings, replace(ben, email=ben.email.upper()))
        assert [count_attempt(tx, settings, ben).remaining for _ in range(3)] == [2, 1, 0]


def test_forgiving_takes_back_no_more_than_was_counted(database: Database) -> None:
    settings = load_settings()
    ada = Visitor("ada@example.org", HERE)
    with database.writing() as tx:
        count_attempt(tx, settings, ada)
        for _ in range(3):
            forgive_attempts(tx, settings, ada)
        granted = [
            count_attempt(tx, settings, Visitor(f"{number}@example.org", HERE)).is_granted
            for number in range(settings.address_sign_in_limit.requests + 1)
        ]

    assert granted == [True] * settings.address_sign_in_limit.requests + [False]


def test_what_is_refused_by_a_limit_of_all_uses_up_nothing_of_ones_own(database: Database) -> None:
    settings = replace(load_settings(), account_sign_in_limit=RateLimit(1, timedelta(hours=1)))
    email = "ada@example.org"
    with database.writing() as tx:
        for number in range(2):
            count_attempt(tx, settings, Visitor(email, f"198.51.100.{number}"))
        refused = [count_attempt(tx, settings, Visitor(email, HERE)).is_granted for _ in range(20)]
        tx.now += timedelta(hours=1)

        assert (any(refused), count_attempt(tx, settings, Visitor(email, HERE)).remaining) == (False, 9)


def test_a_browser_is_known_for_the_last_accounts_that_signed_in_there_and_for_no_others(database: Database) -> None:
    settings = replace(load_settings(), sign_in_limit=RateLimit(1, timedelta(hours=1)))
    known = None
    emails = [f"{name}@example.org" for name in "abcde"]
    for email in emails:
        known = remember_browser(settings, Visitor(email, HERE, known))
    forged = f"{known}.{'0' * 32}"

    with database.writing() as tx:
        for email in emails:
            count_attempt(tx, settings, Visitor(email, HERE))
        granted = [count_attempt(tx, settings, Visitor(email, HERE, known)).is_granted for email in emails]
        stranger = [count_attempt(tx, settings, Visitor("x@example.org", HERE, each)) for each in (known, forged)]

    assert granted == [False, True, True, True, True]
    assert [each.is_granted for each in stranger] == [True, False]


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        (" Ann@Example.org ", "Ann@Example.org"),
        ("jose\u0301@example.org", "jos\u00e9@example.org"),
        ("\u212ate@example.org", "Kte@example.org"),
        ("\uff41nn\uff20example\uff0eorg", "ann@example.org"),
    ],
)
def test_forms_of_unicode_are_one_address(typed: str, stored: str) -> None:
    assert check_email(typed) == stored
    assert email_key(typed) == email_key(stored) == stored.lower()


@pytest.mark.parametrize(
    "typed", ["", "ann", "ann@example", "a b@example.org", "ann\uff0cben@example.org", "a\u200bn@e.org"]
)
def test_what_is_no_address_is_refused(typed: str) -> None:
    with pytest.raises(InvalidInput):
        check_email(typed)
