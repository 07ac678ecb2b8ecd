"""Flows: automated conversations, with data from the newest definition of each."""

from sqlalchemy import select

from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.sql.columns import UuidText, is_uuid
from persistence.sql.fixed_statements import Fixed, param
from persistence.sql.names import must_exist
from persistence.tables.flows import flow

_MINE = (flow.c.workspace_id == param("owner")) & (flow.c.uuid == param("uuid", UuidText))
_FINDING = Fixed(lambda _is_sqlite: select(flow.c.id, flow.c.is_archived).where(_MINE))
MESSAGE, VOICE, BACKGROUND, SURVEY = "message", "voice", "background", "survey"


def find_flow(tx: Transaction, workspace_id: int, uuid: str) -> int | None:
    """The id of the flow with this uuid, archived or not."""
    mine = (flow.c.workspace_id == workspace_id) & (flow.c.uuid == uuid.lower())
    return tx.execute(select(flow.c.id).where(mine)).scalar_one_or_none()


def require_active_flow(tx: Transaction, workspace_id: int, uuid: str, *, field: str) -> int:
    """The id of a flow that is not archived. Raises InvalidInput about the field."""
    found = _FINDING.rows(tx, {"owner": workspace_id, "uuid": uuid}) if is_uuid(uuid) else []
    row: tuple[int, bool] | None = found[0] if found else None
    flow_id, is_archived = must_exist(row, field, uuid)
    if is_archived:
        raise InvalidInput.on(field, "This flow is archived.")
    return flow_id
