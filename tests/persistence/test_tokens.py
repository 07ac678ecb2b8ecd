"""Credentials of tokens.

Registrations of phones per IP address.

Responses kept under the keys of clients.
"""

from datetime import timedelta
from itertools import product

import pytest

from persistence.database import Database
from persistence.errors import Clash
from persistence.tokens import (
    KeptAnswer,
    Origin,
    TooManyRegistrations,
    claim_key,
    count_registration,
    find_credentials,
    keep_answer,
    note_use,
)
from persistence.workspaces.records import Workspace
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


def test_the_time_until_the_next_registration_is_rounded_up(database: Database) -> None:
    origin = Origin("192.0.2.1", 1, timedelta(seconds=60))
    with database.writing() as tx:
        count_registration(tx, origin)
        with pytest.raises(TooManyRegistrations) as refused:
            count_registration(tx, origin)

    assert refused.value.retry_after_seconds == 61


def test_a_response_is_kept_for_its_workspace_operation_and_key_alone(
    database: Database, workspace: Workspace, other_workspace: Workspace
) -> None:
    claims = list(product((workspace.id, other_workspace.id), ("a", "b", "c"), ("1", "2", "3")))
    with database.writing() as tx:
        assert [claim_key(tx, *claim, b"same") for claim in claims] == [None] * len(claims)
        for status, claim in enumerate(claims, 200):
            keep_answer(tx, *claim, status, f"{claim}")

    with database.writing() as tx:
        repeated = [claim_key(tx, *claim, b"same") for claim in claims]

    assert repeated == [KeptAnswer(status, f"{claim}") for status, claim in enumerate(claims, 200)]


def test_a_key_is_for_one_request(database: Database, workspace: Workspace) -> None:
    with database.writing() as tx:
        claim_key(tx, workspace.id, "a", "1", b"first")
        keep_answer(tx, workspace.id, "a", "1", 201, None)
        with pytest.raises(Clash):
            claim_key(tx, workspace.id, "a", "1", b"second")
