"""Flows, automated conversations, as both generations list them, with data from the newest definition of each, their
labels and their settings.
"""

from collections.abc import Sequence

from sqlalchemy import Executable, case, delete, exists, insert, null, select

from persistence.database import Database, Transaction
from persistence.errors import InUse, InvalidInput, RecordMissing
from persistence.lists import Condition, ListQuery, ListSpec, equals, one_of, within
from persistence.pages import Order
from persistence.records import Record, Related
from persistence.runs.runs import IS_OPEN
from persistence.sessions.sessions import interrupt_flow
from persistence.sql.columns import is_uuid, new_uuid
from persistence.sql.names import check_name, check_room, find_all_called, must_exist, name_key
from persistence.stamps import stamped
from persistence.statements import statement, update
from persistence.tables.flows import flow, flow_label, flow_run, labeled_flow
from persistence.triggers.records import archive_triggers_of_flow
from persistence.usages import CAMPAIGN, list_usages, tell_living
from persistence.workspaces.records import Workspace, hold_workspace

MESSAGE, VOICE, BACKGROUND, SURVEY = "message", "voice", "background", "survey"

SHOWN_TYPE = case((flow.c.type == BACKGROUND, MESSAGE), else_=flow.c.type)
"""The API has no background flows: it shows them as message flows."""

TYPES_BEHIND = {MESSAGE: (MESSAGE, BACKGROUND), VOICE: (VOICE,), SURVEY: (SURVEY,)}
"""The stored types of flows for each shown type."""

_LABELS = labeled_flow.join(flow_label, flow_label.c.id == labeled_flow.c.label_id)
LABELS_OF_FLOW = Related(
    labeled_flow.c.flow_id,
    _LABELS,
    Record({"uuid": flow_label.c.uuid, "name": flow_label.c.name}),
    flow_label.c.name_key,
)

FLOW_RECORD = Record(
    {
        "uuid": flow.c.uuid,
        "name": flow.c.name,
        "type": SHOWN_TYPE,
        "archived": flow.c.is_archived,
        "labels": LABELS_OF_FLOW,
        "expires": flow.c.expires_after_minutes,
        "runs": Record(
            {
                "active": flow.c.active_run_count,
                "completed": flow.c.completed_run_count,
                "interrupted": flow.c.interrupted_run_count,
                "expired": flow.c.expired_run_count,
            }
        ),
        "results": flow.c.results,
        "parent_refs": flow.c.parent_refs,
        "created_on": flow.c.created_on,
        "modified_on": flow.c.modified_on,
    }
)

FLOWS = ListSpec(
    flow,
    FLOW_RECORD,
    Order(flow.c.modified_on, flow.c.id),
    is_followed=True,
    filters={
        "uuid": equals(flow.c.uuid),
        "type": lambda _query, word: flow.c.type.in_(TYPES_BEHIND.get(word.lower(), ())),
        "archived": lambda _query, is_archived: flow.c.is_archived.is_(is_archived),
        **within(flow.c.modified_on),
    },
)
"""An unknown type gives an empty page."""

TYPES_BY_LETTER = {"F": (MESSAGE, BACKGROUND), "M": (MESSAGE, BACKGROUND), "S": (SURVEY,), "V": (VOICE,)}
LABEL_NAMES_OF_FLOW = Related(labeled_flow.c.flow_id, _LABELS, flow_label.c.name, flow_label.c.name_key)

FLOW_SUMMARY = Record(
    {
        "uuid": flow.c.uuid,
        "archived": flow.c.is_archived,
        "expires": flow.c.expires_after_minutes,
        "name": flow.c.name,
        "labels": LABEL_NAMES_OF_FLOW,
        "runs": flow.c.active_run_count
        + flow.c.completed_run_count
        + flow.c.interrupted_run_count
        + flow.c.expired_run_count,
        "completed_runs": flow.c.completed_run_count,
        "participants": null(),
        "rulesets": flow.c.rulesets,
        "created_on": flow.c.created_on,
        "flow": flow.c.id,
    }
)

FLOWS_AT_ONCE = 200
_HAS_OPEN_RUNS = exists().where(flow_run.c.flow_id == flow.c.id, IS_OPEN)
BY_NAME = Order(flow.c.name_key, flow.c.id, descending=False)


def list_all_flows(tx: Transaction, workspace: Workspace) -> list[str]:
    """All flows of a workspace as JSON texts, by name."""
    return FLOWS.read(ListQuery(tx, workspace), order=BY_NAME)


def _of_types(_query: ListQuery, letters: Sequence[str]) -> Condition:
    types = {each for letter in letters for each in TYPES_BY_LETTER[letter.upper()]}
    return flow.c.type.in_(sorted(types))


def _with_labels(query: ListQuery, texts: Sequence[str]) -> Condition:
    named = flow_label.c.name_key.in_(_read_names(query.tx, query.workspace.id, texts))
    labeled = (
        select(labeled_flow.c.flow_id)
        .join(flow_label, flow_label.c.id == labeled_flow.c.label_id)
        .where(flow_label.c.workspace_id == query.workspace.id, named)
    )
    return flow.c.id.in_(labeled)


FLOWS_V1 = ListSpec(
    flow,
    FLOW_SUMMARY,
    Order(flow.c.created_on, flow.c.id),
    filters={
        "flow": one_of(flow.c.id),
        "uuid": one_of(flow.c.uuid),
        "label": _with_labels,
        "type": _of_types,
        "archived": lambda _query, is_archived: flow.c.is_archived if is_archived else ~flow.c.is_archived,
        **within(flow.c.created_on),
    },
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


def list_counting_workspaces(tx: Transaction) -> list[int]:
    """The workspaces with flows whose counts of runs changed."""
    return list(tx.execute(select(flow.c.workspace_id).where(flow.c.counted_on.is_not(None)).distinct()).scalars())


def show_counts(tx: Transaction, workspace_id: int) -> bool:
    """Moves the `modified_on` of flows whose counts of runs changed, once for many runs: otherwise each run would write
    its flow twice. Returns False: a flow whose counts change all the time is moved again only by the next call."""
    is_left = flow.c.is_archived & _HAS_OPEN_RUNS
    mine = (flow.c.workspace_id == workspace_id) & flow.c.counted_on.is_not(None) & ~is_left
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


def find_flow(tx: Transaction, workspace_id: int, uuid: str) -> int | None:
    """The id of the flow with this uuid, archived or not."""
    mine = (flow.c.workspace_id == workspace_id) & (flow.c.uuid == uuid.lower())
    return tx.execute(select(flow.c.id).where(mine)).scalar_one_or_none()


def find_flows(tx: Transaction, workspace_id: int, uuids: Sequence[str]) -> list[int]:
    """The ids of flows, archived or not, each once and in the order in which they are locked. Raises InvalidInput."""
    return sorted({row.id for row in find_all_called(tx, workspace_id, flow, uuids, "flows")})


def require_active_flow(tx: Transaction, workspace_id: int, uuid: str, *, field: str) -> int:
    """The id of a flow that is not archived. Raises InvalidInput about the field."""
    found = _select_flow.rows(tx, workspace_id, uuid) if is_uuid(uuid) else []
    row: tuple[int, bool] | None = found[0] if found else None
    flow_id, is_archived = must_exist(row, field, uuid)
    if is_archived:
        raise InvalidInput.on(field, "This flow is archived.")
    return flow_id


def put_away_flow(tx: Transaction, workspace_id: int, flow_id: int) -> None:
    """Archives a flow as `archive_flow` does, with contacts interrupted by the job `counts` soon after."""
    _put_away(tx, workspace_id, flow_id)
    mine = (flow.c.workspace_id == workspace_id) & (flow.c.id == flow_id)
    tx.execute(update(flow).where(mine).values(counted_on=tx.now))
    tx.wake("counts")


def restore_flow(tx: Transaction, workspace_id: int, flow_id: int) -> None:
    """A flow can be started again; its triggers stay archived."""
    mine = (flow.c.workspace_id == workspace_id) & (flow.c.id == flow_id)
    restored = update(flow).where(mine, flow.c.is_archived)
    tx.execute(restored.values(is_archived=False, modified_on=stamped(tx, flow, workspace_id)))


def interrupt_archived(tx: Transaction, workspace_id: int) -> bool:
    """Interrupts who is in flows that were archived since their counts were shown. Returns False."""
    mine = (flow.c.workspace_id == workspace_id) & flow.c.counted_on.is_not(None) & flow.c.is_archived & _HAS_OPEN_RUNS
    for flow_id in tx.execute(select(flow.c.id).where(mine).order_by(flow.c.id).limit(FLOWS_AT_ONCE)).scalars().all():
        interrupt_flow(tx, workspace_id, flow_id)
    return False


def archive_flow(database: Database, workspace_id: int, flow_id: int) -> None:
    """Archives a flow: its triggers are archived, nothing starts it any more, and contacts in it are interrupted. It
    takes two units of work, because flows are locked after contacts; it can be repeated if it ends between them.
    Importing the flow restores it. Raises InUse while campaign events start it.
    """
    database.write(lambda tx: _put_away(tx, workspace_id, flow_id))
    database.write(lambda tx: interrupt_flow(tx, workspace_id, flow_id))


@statement
def _select_flow(workspace_id: int, uuid: str) -> Executable:
    return select(flow.c.id, flow.c.is_archived).where(flow.c.workspace_id == workspace_id, flow.c.uuid == uuid)


def _read_names(tx: Transaction, workspace_id: int, texts: Sequence[str]) -> list[str]:
    """The keys of the labels in a filter; commas separate names unless the whole value is one name."""
    wholes = {text: name_key(text.strip()) for text in texts}
    statement = select(flow_label.c.name_key).where(
        flow_label.c.workspace_id == workspace_id, flow_label.c.name_key.in_(sorted(wholes.values()))
    )
    known = set(tx.execute(statement).scalars())
    parts = {
        text: [key] if key in known else [name_key(part.strip()) for part in text.split(",")]
        for text, key in wholes.items()
    }
    return sorted({key for keys in parts.values() for key in keys})


def _touch(tx: Transaction, workspace_id: int, flow_id: int) -> None:
    mine = (flow.c.workspace_id == workspace_id) & (flow.c.id == flow_id)
    tx.execute(update(flow).where(mine).values(modified_on=stamped(tx, flow, workspace_id)))


def _find(tx: Transaction, workspace_id: int, name: str) -> int | None:
    mine = (flow_label.c.workspace_id == workspace_id) & (flow_label.c.name_key == name_key(name.strip()))
    return tx.execute(select(flow_label.c.id).where(mine)).scalar_one_or_none()


def _put_away(tx: Transaction, workspace_id: int, flow_id: int) -> None:
    hold_workspace(tx, workspace_id)
    mine = (flow.c.workspace_id == workspace_id) & (flow.c.id == flow_id)
    uuid = tx.execute(select(flow.c.uuid).where(mine)).scalar_one()
    if users := tell_living(list_usages(tx, workspace_id, "flow", uuid), CAMPAIGN):
        raise InUse(f"Events of {users} start this flow: delete or change them first.")
    # Waits for transactions that are bringing contacts into the flow; these contacts are then interrupted with the
    # others.
    tx.execute(select(flow.c.id).where(mine).with_for_update())
    tx.execute(
        update(flow)
        .where(mine, ~flow.c.is_archived)
        .values(is_archived=True, modified_on=stamped(tx, flow, workspace_id))
    )
    archive_triggers_of_flow(tx, workspace_id, flow_id)
