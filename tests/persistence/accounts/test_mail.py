"""Letters about accounts: when one that could not be handed over is tried again, and what is said of those given up."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import select, text, update

from persistence.accounts.mail import (
    SIGN_IN,
    claim_letter,
    finish_letter,
    post,
    postpone_letter,
    read_given_up,
    read_letter,
)
from persistence.database import Database, Transaction
from persistence.leases import MOST_ATTEMPTS
from persistence.secrets.encryption import SecretDamaged
from persistence.tables.sign_ins import account_mail

REFUSED = "550 no such user"


def add_letter(tx: Transaction, recipient: str = "ada@example.org", lifetime: timedelta = timedelta(days=7)) -> int:
    post(tx, SIGN_IN, recipient, {"root": "https://example.org"}, lifetime)
    letter_id: int = tx.execute(select(account_mail.c.id).order_by(account_mail.c.id.desc()).limit(1)).scalar_one()
    return letter_id


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 30), (2, 60), (3, 120), (7, 1920)])
def test_each_attempt_waits_twice_as_long_as_the_one_before(database: Database, attempts: int, seconds: int) -> None:
    with database.writing() as tx:
        add_letter(tx)
        tx.execute(update(account_mail).values(attempts=attempts - 1))
        letter_id = claim_letter(tx)
        assert letter_id is not None
        due_on = postpone_letter(tx, letter_id, REFUSED)

        assert due_on == tx.now + timedelta(seconds=seconds)
        assert tx.execute(select(account_mail.c.due_on)).scalar_one() == due_on


@pytest.mark.parametrize(("attempts", "lifetime"), [(8, timedelta(days=7)), (5, timedelta(minutes=5))])
def test_a_letter_that_is_refused_too_often_or_for_too_long_is_given_up_and_keeps_only_the_reason(
    database: Database, attempts: int, lifetime: timedelta
) -> None:
    with database.writing() as tx:
        add_letter(tx, lifetime=lifetime)
        tx.execute(update(account_mail).values(attempts=attempts - 1))
        letter_id = claim_letter(tx)
        assert letter_id is not None
        assert postpone_letter(tx, letter_id, REFUSED) is None

        assert claim_letter(tx) is None
        assert read_letter(tx, letter_id).content == {}
        count, reason = read_given_up(tx)
    assert count == 1 and reason is not None and REFUSED in reason


def test_a_letter_that_waits_until_it_expires_is_given_up(database: Database, clock: Any) -> None:
    with database.writing() as tx:
        add_letter(tx, lifetime=timedelta(minutes=15))
    clock.advance(minutes=16)
    with database.writing() as tx:
        assert claim_letter(tx) is None
        assert read_given_up(tx) == (1, "It could not be sent in time.")


def test_a_letter_that_cannot_be_read_is_given_up_after_three_attempts_and_stops_no_other(
    database: Database, clock: Any
) -> None:
    with database.writing() as tx:
        damaged, other = add_letter(tx), add_letter(tx, "bea@example.org")
        tx.execute(text("UPDATE account_mail SET content = 'no secret' WHERE id = :id"), {"id": damaged})
    claimed = []
    for _ in range(MOST_ATTEMPTS + 2):
        letter_id = database.write(claim_letter)
        claimed.append(letter_id)
        if letter_id == damaged:
            with pytest.raises(SecretDamaged), database.reading() as tx:
                read_letter(tx, damaged)
        elif letter_id is not None:
            database.write(partial(finish_letter, letter_id=letter_id))
        clock.advance(minutes=6)

    assert claimed.count(damaged) == MOST_ATTEMPTS and other in claimed
    with database.reading() as tx:
        count, reason = read_given_up(tx)
    assert count == 1 and reason is not None and "attempts" in reason
