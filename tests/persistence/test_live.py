"""What changed in a workspace, for clients that follow it."""

from datetime import timedelta

import orjson

from persistence.database import Database
from persistence.live import read_changes
from persistence.tables.runs import flow_run
from persistence.workspaces import Workspace
from tests.channel_rows import add_contact
from tests.run_rows import add_flow, add_run, uuid_of
from tests.ticket_rows import add_ticket


def test_runs_and_tickets_are_found_by_the_time_of_their_own_last_change(
    database: Database, workspace: Workspace
) -> None:
    contact_id = add_contact(database, workspace)
    run = uuid_of(database, flow_run, add_run(database, workspace, add_flow(database, workspace), contact_id))
    ticket = add_ticket(database, workspace, contact_id)
    with database.reading() as tx:
        day = timedelta(days=1)
        found = read_changes(tx, workspace, tx.now - day, tx.now + day, 10)

    assert found is not None
    assert [(each.kind, orjson.loads(each.record)["uuid"]) for each in found] == [("run", run), ("ticket", ticket)]
