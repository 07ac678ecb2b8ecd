"""Flows as v1 lists them: numbers of runs, names of labels, and the steps that save results."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, null, select

from persistence.database import Transaction
from persistence.flows.flows import BACKGROUND, MESSAGE, SURVEY, VOICE
from persistence.flows.labels import LABEL_NAMES_OF_FLOW
from persistence.sql.json_sql import declare_record
from persistence.sql.names import name_key
from persistence.sql.numbered_pages import NumberedPage, fetch_numbered_page
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

NEWEST_FIRST = Order(flow.c.created_on, flow.c.id)


@dataclass(frozen=True, slots=True)
class FlowFilter:
    """Which flows a v1 client asks for; absent parts ask for nothing."""

    ids: Sequence[int] | None = None
    uuids: Sequence[str] | None = None
    labels: Sequence[str] | None = None
    letters: Sequence[str] | None = None
    archived: bool | None = None
    before: datetime | None = None
    after: datetime | None = None


def list_flow_summaries(tx: Transaction, workspace_id: int, wanted: FlowFilter, number: int, size: int) -> NumberedPage:
    """The flows of a workspace, newest first; labels are named in any case, types by letter."""
    return fetch_numbered_page(
        tx,
        record=FLOW_SUMMARY,
        source=flow,
        order=NEWEST_FIRST,
        conditions=_read_conditions(tx, workspace_id, wanted),
        number=number,
        size=size,
    )


def _read_conditions(tx: Transaction, workspace_id: int, wanted: FlowFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [flow.c.workspace_id == workspace_id]
    if wanted.ids:
        conditions.append(flow.c.id.in_(wanted.ids))
    if wanted.uuids:
        conditions.append(flow.c.uuid.in_(wanted.uuids))
    if wanted.labels:
        named = flow_label.c.name_key.in_(_read_names(tx, workspace_id, wanted.labels))
        labeled = (
            select(labeled_flow.c.flow_id)
            .join(flow_label, flow_label.c.id == labeled_flow.c.label_id)
            .where(flow_label.c.workspace_id == workspace_id, named)
        )
        conditions.append(flow.c.id.in_(labeled))
    if wanted.letters:
        types = {each for letter in wanted.letters for each in TYPES_BY_LETTER[letter.upper()]}
        conditions.append(flow.c.type.in_(sorted(types)))
    if wanted.archived is not None:
        conditions.append(flow.c.is_archived if wanted.archived else ~flow.c.is_archived)
    if wanted.before is not None:
        conditions.append(flow.c.created_on <= wanted.before)
    if wanted.after is not None:
        conditions.append(flow.c.created_on >= wanted.after)
    return conditions


def _read_names(tx: Transaction, workspace_id: int, texts: Sequence[str]) -> list[str]:
    """The keys of the labels that are named; commas part names unless the whole text is one."""
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
