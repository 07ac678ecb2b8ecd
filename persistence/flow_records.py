"""Flows as the API lists them in both generations."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, case, select

from persistence.database import Transaction
from persistence.flows import flow, flow_label
from persistence.labels import label
from persistence.names import name_key
from persistence.numbered_pages import NumberedPage, fetch_numbered_page
from persistence.pages import Order, Page, Position, fetch_page
from persistence.shapes import declare_record, json_list, json_record, json_text_list

BACKGROUND, MESSAGE = "background", "message"
LETTERS = {"M": (MESSAGE, BACKGROUND), "F": (MESSAGE, BACKGROUND), "V": ("voice",), "S": ("survey",)}
"""The letters of generation 1 for types of flows."""

SHOWN_TYPE = case((flow.c.type == BACKGROUND, MESSAGE), else_=flow.c.type)
"""The interface knows no background flows: they are message flows that never wait."""

_LABELS = (
    select(json_record({"uuid": label.c.uuid, "name": label.c.name}).label("item"))
    .join(flow_label, flow_label.c.label_id == label.c.id)
    .where(flow_label.c.flow_id == flow.c.id)
    .order_by(label.c.name_key)
    .correlate(flow)
)
_LABEL_NAMES = (
    select(label.c.name.label("item"))
    .join(flow_label, flow_label.c.label_id == label.c.id)
    .where(flow_label.c.flow_id == flow.c.id)
    .order_by(label.c.name_key)
    .correlate(flow)
)
FLOW_RECORD = declare_record(
    {
        "uuid": flow.c.uuid,
        "name": flow.c.name,
        "type": SHOWN_TYPE,
        "archived": flow.c.is_archived,
        "labels": json_list(_LABELS),
        "expires": flow.c.expires_after_minutes,
        "runs": json_record(
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
FLOW_SUMMARY = declare_record(
    {
        "uuid": flow.c.uuid,
        "archived": flow.c.is_archived,
        "expires": flow.c.expires_after_minutes,
        "name": flow.c.name,
        "labels": json_text_list(_LABEL_NAMES),
        "runs": (
            flow.c.active_run_count
            + flow.c.completed_run_count
            + flow.c.interrupted_run_count
            + flow.c.expired_run_count
        ),
        "completed_runs": flow.c.completed_run_count,
        "participants": None,
        "rulesets": flow.c.rulesets,
        "created_on": flow.c.created_on,
        "flow": flow.c.id,
    }
)
FLOWS_ORDER = Order(flow.c.modified_on, flow.c.id)
NEWEST_FIRST = Order(flow.c.created_on, flow.c.id)


def list_flows(
    tx: Transaction,
    workspace_id: int,
    position: Position | None,
    size: int,
    *,
    uuid: str | None = None,
    flow_type: str | None = None,
    archived: bool | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
) -> Page:
    """The flows of a workspace by their last change, newest first; an unknown type gives an empty page."""
    conditions: list[ColumnElement[bool]] = [flow.c.workspace_id == workspace_id]
    if uuid is not None:
        conditions.append(flow.c.uuid == uuid)
    if flow_type is not None:
        conditions.append(SHOWN_TYPE == flow_type.lower())
    if archived is not None:
        conditions.append(flow.c.is_archived.is_(archived))
    if before is not None:
        conditions.append(flow.c.modified_on <= before)
    if after is not None:
        conditions.append(flow.c.modified_on >= after)
    return fetch_page(
        tx,
        record=FLOW_RECORD,
        source=flow,
        source_id=flow.c.id,
        order=FLOWS_ORDER,
        conditions=conditions,
        position=position,
        size=size,
    )


def list_flow_summaries(
    tx: Transaction,
    workspace_id: int,
    number: int,
    size: int,
    *,
    ids: Sequence[int] | None = None,
    uuids: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    archived: bool | None = None,
    letters: Sequence[str] | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
) -> NumberedPage:
    """The flows of a workspace as generation 1 lists them, newest first by creation; labels by name, in any case."""
    conditions: list[ColumnElement[bool]] = [flow.c.workspace_id == workspace_id]
    if ids:
        conditions.append(flow.c.id.in_(ids))
    if uuids:
        conditions.append(flow.c.uuid.in_(uuids))
    if labels:
        conditions.append(flow.c.id.in_(_with_labels(workspace_id, labels)))
    if archived is not None:
        conditions.append(flow.c.is_archived.is_(archived))
    if letters:
        types = {kind for letter in letters for kind in LETTERS[letter.upper()]}
        conditions.append(flow.c.type.in_(sorted(types)))
    if before is not None:
        conditions.append(flow.c.created_on <= before)
    if after is not None:
        conditions.append(flow.c.created_on >= after)
    return fetch_numbered_page(
        tx, record=FLOW_SUMMARY, source=flow, order=NEWEST_FIRST, conditions=conditions, number=number, size=size
    )


def _with_labels(workspace_id: int, names: Sequence[str]) -> Any:
    return (
        select(flow_label.c.flow_id)
        .join(label, label.c.id == flow_label.c.label_id)
        .where(label.c.workspace_id == workspace_id, label.c.name_key.in_({name_key(name) for name in names}))
    )
