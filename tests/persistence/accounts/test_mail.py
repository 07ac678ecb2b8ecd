"""Letters about accounts: when one that could not be handed over is tried again."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from persistence.accounts.mail import SIGN_IN, claim_letter, post, postpone_letter
from persistence.database import Database
from persistence.tables.sign_ins import account_mail


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 30), (2, 60), (3, 120), (7, 1920)])
def test_each_attempt_waits_twice_as_long_as_the_one_before(database: Database, attempts: int, seconds: int) -> None:
    with database.writing() as tx:
        post(tx, SIGN_IN, "ada@example.org", {}, timedelta(hours=1))
        tx.execute(update(account_mail).values(attempts=attempts - 1))
        letter = claim_letter(tx)
        assert letter is not None
        due_on = postpone_letter(tx, letter.id)

        assert due_on == tx.now + timedelta(seconds=seconds)
        assert tx.execute(select(account_mail.c.due_on)).scalar_one() == due_on


def test_a_letter_that_is_gone_meanwhile_is_postponed_like_a_new_one(database: Database) -> None:
    with database.writing() as tx:
        assert postpone_letter(tx, 404) == tx.now + timedelta(seconds=30)
