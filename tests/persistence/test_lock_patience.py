"""Who waits for a lock gives up before who holds it without doing anything, and waits anew."""

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError

from persistence.database import Database, Transaction
from persistence.errors import waited_too_long
from persistence.tables.accounts import workspace as workspace_rows
from persistence.workspaces.records import Workspace

pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
SHOW = text("SELECT current_setting('lock_timeout')")


def test_a_unit_that_is_run_again_waits_less_than_an_idle_one_may_hold(database: Database) -> None:
    assert database.write(lambda tx: tx.execute(SHOW).scalar_one()) == "2s"
    with database.writing() as tx:
        assert tx.execute(SHOW).scalar_one() == "20s"


def test_a_unit_that_waited_too_long_is_run_again(database: Database, workspace: Workspace) -> None:
    row = select(workspace_rows.c.id).where(workspace_rows.c.id == workspace.id).with_for_update()
    tries: list[int] = []
    with database.engine.connect() as holder:
        holder.execute(row)

        def lock(tx: Transaction) -> int:
            tries.append(1)
            tx.connection.exec_driver_sql("SET LOCAL lock_timeout = '50ms'")
            try:
                return int(tx.execute(row).scalar_one())
            except DBAPIError as error:
                if waited_too_long(error):
                    holder.rollback()
                raise

        assert database.write(lock) == workspace.id
    assert len(tries) == 2
