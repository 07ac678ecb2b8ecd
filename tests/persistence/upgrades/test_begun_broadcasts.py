"""What revision 0006 does with broadcasts of a time."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from persistence.database import Database
from persistence.migrations import downgrade, upgrade
from persistence.tables.messages import broadcast
from persistence.workspaces.records import Workspace
from tests.contract.filled_workspace import fill_workspace

HOUR = timedelta(hours=1)


@pytest.mark.own_session
@pytest.mark.parametrize(
    ("status", "total", "has_begun"),
    [
        ("completed", 3, True),
        ("queued", -1, True),
        ("failed", -1, True),
        ("interrupted", 3, True),
        ("pending", -1, False),
        ("interrupted", -1, False),
    ],
)
def test_those_that_began_before_are_created_at_their_time(
    database: Database, workspace: Workspace, status: str, total: int, has_begun: bool
) -> None:
    fill_workspace(database, workspace, 1)
    written = database.clock()
    when = written + HOUR
    downgrade(database.engine, "0005")
    with database.writing() as tx:
        tx.execute(update(broadcast).values(status=status, total=total, created_on=written, scheduled_on=when))

    upgrade(database.engine)

    with database.reading() as tx:
        assert tx.execute(select(broadcast.c.created_on)).scalar_one() == (when if has_begun else written)
