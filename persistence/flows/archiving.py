"""Archives flows."""

from sqlalchemy import select, update

from persistence.campaigns.records import campaigns_with
from persistence.database import Database, Transaction
from persistence.errors import InUse
from persistence.sessions.sessions import interrupt_flow
from persistence.sql.names import name_some
from persistence.stamps import stamped
from persistence.tables.campaigns import campaign_event
from persistence.tables.flows import flow
from persistence.triggers.writes import archive_triggers_of_flow
from persistence.workspaces import hold_workspace


def archive_flow(database: Database, workspace_id: int, flow_id: int) -> None:
    """Archives a flow: its triggers are archived, nothing starts it any more, and contacts in it are interrupted. It
    takes two units of work, because flows are locked after contacts; it can be repeated if it ends between them.
    Importing the flow restores it. Raises InUse while campaign events start it.
    """
    database.write(lambda tx: _put_away(tx, workspace_id, flow_id))
    database.write(lambda tx: interrupt_flow(tx, workspace_id, flow_id))


def _put_away(tx: Transaction, workspace_id: int, flow_id: int) -> None:
    hold_workspace(tx, workspace_id)
    if users := campaigns_with(tx, workspace_id, campaign_event.c.flow_id == flow_id):
        raise InUse(f"Events of {name_some(users)} start this flow: delete or change them first.")
    mine = (flow.c.workspace_id == workspace_id) & (flow.c.id == flow_id)
    # Waits for transactions that are bringing contacts into the flow; these contacts are then interrupted with the
    # others.
    tx.execute(select(flow.c.id).where(mine).with_for_update())
    tx.execute(
        update(flow)
        .where(mine, ~flow.c.is_archived)
        .values(is_archived=True, modified_on=stamped(tx, flow, workspace_id))
    )
    archive_triggers_of_flow(tx, workspace_id, flow_id)
