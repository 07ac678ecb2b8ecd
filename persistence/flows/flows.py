"""Flows: conversations that run by themselves, and what is known of each from its newest definition."""

from sqlalchemy import select

from persistence.database import Transaction
from persistence.tables.flows import flow

MESSAGE, VOICE, BACKGROUND, SURVEY = "message", "voice", "background", "survey"


def find_flow(tx: Transaction, workspace_id: int, uuid: str) -> int | None:
    """The id of the flow with this uuid, archived or not."""
    mine = (flow.c.workspace_id == workspace_id) & (flow.c.uuid == uuid.lower())
    return tx.execute(select(flow.c.id).where(mine)).scalar_one_or_none()
