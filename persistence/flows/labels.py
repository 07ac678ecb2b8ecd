"""Labels of flows, by which people organize their flows; they are separate from labels of messages."""

from sqlalchemy import delete, insert, select, update

from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.sql.columns import new_uuid
from persistence.sql.json_sql import json_list, json_record, json_text_list
from persistence.sql.names import check_name, check_room, name_key
from persistence.stamps import stamped
from persistence.tables.flows import flow, flow_label, labeled_flow
from persistence.workspaces import hold_workspace

_OF_FLOW = labeled_flow.c.flow_id == flow.c.id
LABELS_OF_FLOW = json_list(
    select(json_record({"uuid": flow_label.c.uuid, "name": flow_label.c.name}).label("item"))
    .join(labeled_flow, labeled_flow.c.label_id == flow_label.c.id)
    .where(_OF_FLOW)
    .order_by(flow_label.c.name_key)
    .correlate(flow)
)
LABEL_NAMES_OF_FLOW = json_text_list(
    select(flow_label.c.name.label("item"))
    .join(labeled_flow, labeled_flow.c.label_id == flow_label.c.id)
    .where(_OF_FLOW)
    .order_by(flow_label.c.name_key)
    .correlate(flow)
)


def add_flow_label(tx: Transaction, workspace_id: int, flow_id: int, name: str) -> None:
    """Label a flow; the label is created if there is none with this name (in any case). Raises InvalidInput for a bad
    name, LimitReached at the limit of labels.
    """
    hold_workspace(tx, workspace_id)
    label_id = _find(tx, workspace_id, name)
    if label_id is None:
        name = check_name(name)
        check_room(tx, workspace_id, flow_label)
        values = {"uuid": new_uuid(), "name": name, "name_key": name_key(name), "created_on": tx.now}
        made = insert(flow_label).values(workspace_id=workspace_id, **values).returning(flow_label.c.id)
        label_id = tx.execute(made).scalar_one()
    held = (labeled_flow.c.flow_id == flow_id) & (labeled_flow.c.label_id == label_id)
    if tx.execute(select(labeled_flow.c.flow_id).where(held)).first() is None:
        tx.execute(insert(labeled_flow).values(workspace_id=workspace_id, flow_id=flow_id, label_id=label_id))
        _touch(tx, workspace_id, flow_id)


def remove_flow_label(tx: Transaction, workspace_id: int, flow_id: int, name: str) -> None:
    """Remove a label from a flow; a label without flows is deleted. Raises RecordMissing for an unknown one."""
    hold_workspace(tx, workspace_id)
    label_id = _find(tx, workspace_id, name)
    if label_id is None:
        raise RecordMissing(f'There is no flow label "{name[:64]}".')
    rows = labeled_flow.c
    if tx.execute(delete(labeled_flow).where(rows.flow_id == flow_id, rows.label_id == label_id)).rowcount:
        _touch(tx, workspace_id, flow_id)
    if tx.execute(select(rows.flow_id).where(rows.label_id == label_id).limit(1)).first() is None:
        tx.execute(delete(flow_label).where(flow_label.c.workspace_id == workspace_id, flow_label.c.id == label_id))


def _touch(tx: Transaction, workspace_id: int, flow_id: int) -> None:
    mine = (flow.c.workspace_id == workspace_id) & (flow.c.id == flow_id)
    tx.execute(update(flow).where(mine).values(modified_on=stamped(tx, flow, workspace_id)))


def _find(tx: Transaction, workspace_id: int, name: str) -> int | None:
    mine = (flow_label.c.workspace_id == workspace_id) & (flow_label.c.name_key == name_key(name.strip()))
    return tx.execute(select(flow_label.c.id).where(mine)).scalar_one_or_none()
