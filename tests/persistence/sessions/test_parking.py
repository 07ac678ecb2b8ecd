"""The condition under which a session waits."""

from sqlalchemy import select

from persistence.database import Database
from persistence.sessions.parking import IS_WAITING
from persistence.tables.flows import flow_session
from persistence.workspaces.records import Workspace
from tests.channel_rows import add_contact
from tests.run_rows import add_flow, add_waiting


def test_statements_contain_the_word_itself_as_partial_indexes_need_it(
    database: Database, workspace: Workspace, statements: list[str]
) -> None:
    contact_id = add_contact(database, workspace)
    session_id, _ = add_waiting(database, workspace, add_flow(database, workspace), contact_id)
    with database.reading() as tx:
        waiting = select(flow_session.c.id).where(flow_session.c.contact_id == contact_id, IS_WAITING)
        assert list(tx.execute(waiting).scalars()) == [session_id]

    assert "status = 'waiting'" in statements[-1]
