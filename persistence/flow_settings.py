"""What people decide about a flow beside its definition."""

from sqlalchemy import update

from persistence.database import Transaction
from persistence.flows import flow
from persistence.stamps import stamped


def set_ignores_triggers(tx: Transaction, workspace_id: int, flow_id: int, *, ignores_triggers: bool) -> None:
    """Whether contacts who are in the flow stay in it when what they send is the keyword of another one."""
    mine = (flow.c.workspace_id == workspace_id) & (flow.c.id == flow_id)
    changed = update(flow).where(mine, flow.c.ignores_triggers != ignores_triggers)
    tx.execute(changed.values(ignores_triggers=ignores_triggers, modified_on=stamped(tx, flow, workspace_id)))
