"""Signing in with a password: what becomes of its hash."""

import pytest
from argon2 import PasswordHasher

from persistence.accounts.accounts import read_account
from persistence.accounts.passwords import Passwords
from persistence.accounts.sign_ins import Browser
from persistence.accounts.signing_in import Door, sign_in_by_password
from persistence.database import Database
from persistence.errors import NotAllowed
from persistence.workspaces import Workspace
from relayboard.base.settings import load_settings
from tests.accounts import EMAIL, PASSWORD, QUICK, add_person

HARDER = Passwords(PasswordHasher(time_cost=2, memory_cost=8, parallelism=1))


@pytest.mark.parametrize(
    ("passwords", "password", "is_renewed"),
    [(HARDER, PASSWORD, True), (HARDER, "a guess", False), (QUICK, PASSWORD, False)],
)
def test_a_hash_is_renewed_only_once_it_is_outdated_and_the_password_is_known(
    database: Database, workspace: Workspace, passwords: Passwords, password: str, is_renewed: bool
) -> None:
    user_id = add_person(database, workspace)
    door = Door(database, load_settings(), passwords, Browser("192.0.2.1", "test"))
    with database.reading() as tx:
        before = read_account(tx, user_id).password_hash
    if password == PASSWORD:
        assert sign_in_by_password(door, EMAIL, password, None).user_id == user_id
    else:
        with pytest.raises(NotAllowed):
            sign_in_by_password(door, EMAIL, password, None)
    with database.reading() as tx:
        after = read_account(tx, user_id).password_hash

    assert after is not None
    assert (after != before, passwords.is_outdated(after)) == (is_renewed, passwords is HARDER and not is_renewed)
    assert passwords.fits(after, PASSWORD)
