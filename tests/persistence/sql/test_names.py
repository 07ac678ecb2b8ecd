"""How records are found by what they are called."""

import pytest
from sqlalchemy import update

from persistence.database import Database
from persistence.labels import create_label
from persistence.sql.columns import new_uuid
from persistence.sql.names import find_called, find_id
from persistence.tables.messages import label
from persistence.workspaces.records import Workspace

USES = 8
"""Statements that are used more often are prepared on PostgreSQL."""


@pytest.fixture
def spam(database: Database, workspace: Workspace) -> int:
    with database.writing() as tx:
        return create_label(tx, workspace.id, "Spam")


def test_a_record_is_found_by_uuid_or_by_name_in_any_case(database: Database, workspace: Workspace, spam: int) -> None:
    with database.reading() as tx:
        uuid = tx.execute(label.select().where(label.c.id == spam)).one().uuid
        for _ in range(USES):
            assert find_id(tx, workspace.id, label, uuid) == spam
            assert find_id(tx, workspace.id, label, uuid.upper(), by_name=True) == spam
            assert find_id(tx, workspace.id, label, " sPAM ", by_name=True) == spam
            assert find_id(tx, workspace.id, label, "Spam") is None
            assert find_id(tx, workspace.id, label, new_uuid()) is None


def test_a_uuid_counts_before_a_name_that_is_written_like_it(
    database: Database, workspace: Workspace, spam: int
) -> None:
    reference = new_uuid()
    with database.writing() as tx:
        named = create_label(tx, workspace.id, reference)
        meant = create_label(tx, workspace.id, "Meant")
        tx.execute(update(label).where(label.c.id == meant).values(uuid=reference))
    with database.reading() as tx:
        for _ in range(USES):
            assert find_called(tx, workspace.id, label, reference) == [meant, named]
            assert find_id(tx, workspace.id, label, reference, by_name=True) == meant


def test_nobody_finds_a_record_of_another_workspace(
    database: Database, workspace: Workspace, other_workspace: Workspace, spam: int
) -> None:
    with database.reading() as tx:
        assert find_called(tx, other_workspace.id, label, "Spam") == []


def test_further_conditions_limit_the_records(database: Database, workspace: Workspace, spam: int) -> None:
    with database.reading() as tx:
        assert find_called(tx, workspace.id, label, "Spam", label.c.message_count > 0) == []
        assert find_called(tx, workspace.id, label, "Spam", label.c.message_count == 0) == [spam]
