"""Registrations of phones per IP address.

Responses kept under the keys of clients.
"""

from datetime import timedelta
from itertools import product

import pytest

from persistence.database import Database
from persistence.errors import Clash
from persistence.limits.rate_limits import (
    KeptAnswer,
    Origin,
    TooManyRegistrations,
    claim_key,
    count_registration,
    keep_answer,
)
from persistence.workspaces import Workspace


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
