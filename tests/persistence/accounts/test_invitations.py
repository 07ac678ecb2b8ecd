"""Invitations: what following one proves.

Letters about accounts: when one that could not be handed over is tried again, and what is said of those given up.
"""

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import select, text, update

from persistence.accounts.invitations import (
    SIGN_IN,
    claim_letter,
    finish_letter,
    invite,
    post,
    postpone_letter,
    read_given_up,
    read_letter,
)
from persistence.database import Database, Transaction
from persistence.leases import MOST_ATTEMPTS
from persistence.secrets.encryption import SecretDamaged
from persistence.tables.accounts import account_mail, invitation
from persistence.users import add_member, find_member
from persistence.workspaces.records import Workspace
from relayboard.base.settings import load_settings


@pytest.mark.parametrize(
    ("has_mail", "is_by_operator", "is_proof"),
    [(True, True, True), (True, False, True), (False, True, True), (False, False, False)],
)
def test_a_link_proves_the_address_if_it_was_mailed_or_an_operator_hands_it_over(
    database: Database, workspace: Workspace, has_mail: bool, is_by_operator: bool, is_proof: bool
) -> None:
    settings = replace(load_settings(), smtp_url="smtp://mail.example.org" if has_mail else None)
    with database.writing() as tx:
        add_member(tx, workspace.id, "ada@example.org", "administrator")
        inviter_id = None if is_by_operator else find_member(tx, workspace.id, "ada@example.org")
        made = invite(tx, workspace, "new@example.org", "agent", "http://testserver", settings, inviter_id)

        assert tx.execute(select(invitation.c.is_proof)).scalar_one() is is_proof
        assert made.is_mailed is has_mail


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
