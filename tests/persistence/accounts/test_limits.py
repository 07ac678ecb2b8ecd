"""How often somebody may try to sign in."""

from dataclasses import replace

from persistence.accounts.limits import count_attempt, forgive_attempts
from persistence.database import Database
from relayboard.base.settings import load_settings

ADA, BEN, HERE, THERE = "ada@example.org", "ben@example.org", "192.0.2.1", "192.0.2.2"


def test_a_success_gives_the_account_its_limit_back_and_the_ip_address_one_attempt(database: Database) -> None:
    limits = load_settings()
    few, many = replace(limits.sign_in_limit, requests=3), replace(limits.address_sign_in_limit, requests=5)
    settings = replace(limits, sign_in_limit=few, address_sign_in_limit=many)
    with database.writing() as tx:
        count_attempt(tx, settings, ADA, HERE)
        forgive_attempts(tx, ADA, HERE)
        left_of_address = [count_attempt(tx, settings, f"{number}@example.org", HERE) for number in range(6)]
        assert [each.is_granted for each in left_of_address] == [True] * 5 + [False]

        count_attempt(tx, settings, BEN, THERE)
        count_attempt(tx, settings, BEN, THERE)
        forgive_attempts(tx, BEN.upper(), THERE)
        assert [count_attempt(tx, settings, BEN, THERE).remaining for _ in range(3)] == [2, 1, 0]


def test_forgiving_takes_back_no_more_than_was_counted(database: Database) -> None:
    settings = load_settings()
    with database.writing() as tx:
        count_attempt(tx, settings, ADA, HERE)
        for _ in range(3):
            forgive_attempts(tx, ADA, HERE)
        granted = [
            count_attempt(tx, settings, f"{number}@example.org", HERE).is_granted
            for number in range(settings.address_sign_in_limit.requests + 1)
        ]

    assert granted == [True] * settings.address_sign_in_limit.requests + [False]
