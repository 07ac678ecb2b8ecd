"""Labels of flows."""

from sqlalchemy import select

from persistence.database import Database
from persistence.flows.records import add_flow_label, remove_flow_label
from persistence.tables.flows import flow_label
from persistence.workspaces.records import Workspace
from tests.run_rows import add_flow


def test_a_label_goes_with_the_last_flow_that_has_it(database: Database, workspace: Workspace) -> None:
    flows = [add_flow(database, workspace), add_flow(database, workspace, "Other")]
    left = []
    with database.writing() as tx:
        for flow_id in flows:
            add_flow_label(tx, workspace.id, flow_id, "Health")
        for flow_id in flows:
            remove_flow_label(tx, workspace.id, flow_id, "health")
            left.append(tx.execute(select(flow_label.c.name)).scalars().all())

    assert left == [["Health"], []]
