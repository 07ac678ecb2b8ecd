"""Flows: automated conversations, with data from the newest definition of each."""

from sqlalchemy import select

from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.sql.columns import is_uuid
from persistence.sql.names import must_exist
from persistence.tables.flows import flow

MESSAGE, VOICE, BACKGROUND, SURVEY = "message", "voice", "background", "survey"


def find_flow(tx: Transaction, workspace_id: int, uuid: str) -> int | None:
    """The id of the flow with this uuid, archived or not."""
    mine = (flow.c.workspace_id == workspace_id) & (flow.c.uuid == uuid.lower())
    return tx.execute(select(flow.c.id).where(mine)).scalar_one_or_none()


def require_active_flow(tx: Transaction, workspace_id: int, uuid: str, *, field: str) -> int:
    """The id of a flow that is not archived. Raises InvalidInput about the field."""
    mine = (flow.c.workspace_id == workspace_id) & (flow.c.uuid == uuid)
    row = tx.execute(select(flow.c.id, flow.c.is_archived).where(mine)).first() if is_uuid(uuid) else None
    flow_id, is_archived = must_exist(row, field, uuid)
    if is_archived:
        raise InvalidInput.on(field, "This flow is archived.")
    return flow_id
