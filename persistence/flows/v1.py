"""Flows as v1 lists them: counts of runs, names of labels, and the steps that save results."""

from collections.abc import Sequence

from sqlalchemy import null, select

from persistence.database import Transaction
from persistence.flows.flows import BACKGROUND, MESSAGE, SURVEY, VOICE
from persistence.flows.labels import LABEL_NAMES_OF_FLOW
from persistence.lists import Condition, ListQuery, ListSpec, one_of, within
from persistence.sql.json_sql import declare_record
from persistence.sql.names import name_key
from persistence.sql.pages import Order
from persistence.tables.flows import flow, flow_label, labeled_flow

TYPES_BY_LETTER = {"F": (MESSAGE, BACKGROUND), "M": (MESSAGE, BACKGROUND), "S": (SURVEY,), "V": (VOICE,)}

FLOW_SUMMARY = declare_record(
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
