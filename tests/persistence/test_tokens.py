"""Credentials of tokens."""

from datetime import timedelta

import pytest

from persistence.database import Database
from persistence.tokens import find_credentials, note_use
from persistence.workspaces import Workspace
from testbed.tokens import SECRET_KEY, make_token


@pytest.mark.parametrize(("seconds", "is_due"), [(0, False), (59, False), (60, True), (61, True), (3600, True)])
def test_the_use_of_a_token_is_noted_once_a_minute(
    database: Database, workspace: Workspace, seconds: int, is_due: bool
) -> None:
    key = make_token(database, workspace, "viewer")
    with database.writing() as tx:
        found = find_credentials(tx, key, SECRET_KEY)
        assert found is not None
        assert found.last_used_step_due
        assert found.token_id is not None
        note_use(tx, found.token_id)
        noted = tx.now
    now = database.clock
    database.clock = lambda: noted + timedelta(seconds=seconds)
    try:
        with database.reading() as tx:
            again = find_credentials(tx, key, SECRET_KEY)
    finally:
        database.clock = now

    assert again is not None
    assert again.last_used_step_due == is_due
