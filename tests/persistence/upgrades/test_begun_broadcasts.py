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


BROADCASTS = (
    ("completed", 3, True),
    ("queued", -1, True),
    ("failed", -1, True),
    ("interrupted", 3, True),
    ("pending", -1, False),
    ("interrupted", -1, False),
)
"""Their statuses and numbers of messages, and whether they have begun."""


@pytest.mark.own_session
def test_those_that_began_before_are_created_at_their_time(database: Database, workspace: Workspace) -> None:
    fill_workspace(database, workspace, 1, {"broadcast": len(BROADCASTS)})
    written = database.clock()
    when = written + HOUR
    downgrade(database.engine, "0005")
    with database.writing() as tx:
        ids = tx.execute(select(broadcast.c.id).order_by(broadcast.c.id)).scalars().all()
        for number, (status, total, _) in zip(ids, BROADCASTS, strict=True):
            values = {"status": status, "total": total, "created_on": written, "scheduled_on": when}
            tx.execute(update(broadcast).where(broadcast.c.id == number).values(values))

    upgrade(database.engine)

    with database.reading() as tx:
        created = tx.execute(select(broadcast.c.created_on).order_by(broadcast.c.id)).scalars().all()
    assert created == [when if has_begun else written for _, _, has_begun in BROADCASTS]
