"""What is done to flows without reading their definitions: settings, who uses a field or a global."""

from collections.abc import Collection

from sqlalchemy import Executable, select, update

from persistence.database import Transaction
from persistence.sql.fixed_statements import Fixed, among, param
from persistence.stamps import stamped
from persistence.tables.flows import flow

FLOWS_AT_ONCE = 200


def find_archived(tx: Transaction, workspace_id: int, flow_ids: Collection[int]) -> set[int]:
    """Those of these flows that are archived. All are locked, as by a run that is stored: a transaction that archives
    one of them waits, or has ended."""
    if not flow_ids:
        return set()
    rows = _HOLDING.rows(tx, {"owner": workspace_id, "wanted": sorted(flow_ids)})
    return {flow_id for flow_id, is_archived in rows if is_archived}


def _hold(_is_sqlite: bool) -> Executable:
    mine = (flow.c.workspace_id == param("owner")) & among(flow.c.id, "wanted")
    held = select(flow.c.id, flow.c.is_archived).where(mine).order_by(flow.c.id)
    return held.with_for_update(read=True, key_share=True)


_HOLDING = Fixed(_hold)


def list_counting_workspaces(tx: Transaction) -> list[int]:
    """The workspaces with flows whose counts of runs changed."""
    return list(tx.execute(select(flow.c.workspace_id).where(flow.c.counted_on.is_not(None)).distinct()).scalars())


def show_counts(tx: Transaction, workspace_id: int) -> bool:
    """Moves the `modified_on` of flows whose counts of runs changed, once for many runs: otherwise each run would write
    its flow twice. Returns False: a flow whose counts change all the time is moved again only by the next call."""
    mine = (flow.c.workspace_id == workspace_id) & flow.c.counted_on.is_not(None)
    held = select(flow.c.id).where(mine).order_by(flow.c.id).limit(FLOWS_AT_ONCE)
    held = held.with_for_update(key_share=True, skip_locked=True)
    moved = update(flow).where(flow.c.workspace_id == workspace_id, flow.c.id.in_(held))
    tx.execute(moved.values(counted_on=None, modified_on=stamped(tx, flow, workspace_id)))
    return False


def set_ignores_triggers(tx: Transaction, workspace_id: int, flow_id: int, *, ignores_triggers: bool) -> None:
    """Sets whether contacts stay in this flow when they send the keyword of another flow."""
    mine = (flow.c.workspace_id == workspace_id) & (flow.c.id == flow_id)
    changed = update(flow).where(mine, flow.c.ignores_triggers != ignores_triggers)
    tx.execute(changed.values(ignores_triggers=ignores_triggers, modified_on=stamped(tx, flow, workspace_id)))


def find_flow_using(tx: Transaction, workspace_id: int, kind: str, key: str) -> str | None:
    """The name of a flow that is not archived and uses the field or the global with this key."""
    columns = (flow.c.name, flow.c.dependencies)
    rows = tx.execute(select(*columns).where(flow.c.workspace_id == workspace_id, ~flow.c.is_archived))
    for name, dependencies in rows:
        if any((each["type"], each.get("key")) == (kind, key) for each in dependencies):
            found: str = name
            return found
    return None
