"""Putting flows away."""

from sqlalchemy import select, update

from persistence.campaign_events import campaign_event, living_events_of
from persistence.database import Transaction
from persistence.errors import Refused
from persistence.flow_sessions import interrupt_flow
from persistence.flows import flow
from persistence.trigger_writes import archive_triggers_of_flow


def archive_flow(tx: Transaction, workspace_id: int, flow_id: int) -> None:
    """Puts a flow away: its triggers are archived, contacts in it are interrupted, and nothing starts it any more.

    Importing it brings it back. Raises Refused while campaign events start it.
    """
    using = select(campaign_event.c.id).where(*living_events_of(workspace_id), campaign_event.c.flow_id == flow_id)
    if tx.execute(using.limit(1)).first() is not None:
        raise Refused("Campaign events still start this flow.")
    # Contacts are locked before flows, as everywhere.
    interrupt_flow(tx, workspace_id, flow_id)
    archive_triggers_of_flow(tx, workspace_id, flow_id)
    mine = (flow.c.workspace_id == workspace_id) & (flow.c.id == flow_id)
    tx.execute(update(flow).where(mine, ~flow.c.is_archived).values(is_archived=True, modified_on=tx.now))
