"""Runs as v1 shows them: plain UUIDs, all steps with what was said there, and filters that take several values."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import ColumnElement, case, null, select

from persistence.database import Transaction
from persistence.runs.runs import COMPLETED, EXPIRED
from persistence.runs.v2 import runs_order
from persistence.sql.columns import is_uuid
from persistence.sql.json_sql import as_text, declare_record
from persistence.sql.numbered_pages import NumberedPage, fetch_numbered_page
from persistence.tables.contacts import contact, group, group_membership
from persistence.tables.flows import flow
from persistence.tables.runs import flow_run

SUMMARY = declare_record(
    {
        "run": flow_run.c.id,
        "flow_uuid": flow.c.uuid,
        "flow": flow.c.id,
        "contact": contact.c.uuid,
        "completed": flow_run.c.status == COMPLETED,
        "steps": flow_run.c.path,
        "visits": flow_run.c.visits,
        "created_on": flow_run.c.created_on,
        "modified_on": flow_run.c.modified_on,
        "expires_on": flow_run.c.expires_on,
        "expired_on": case((flow_run.c.status == EXPIRED, flow_run.c.exited_on), else_=null()),
    }
)
"""What is read of a run; `_show` makes the record of it."""

SOURCE = flow_run.join(flow, flow.c.id == flow_run.c.flow_id).join(contact, contact.c.id == flow_run.c.contact_id)
PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?\Z")


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are meant; None and empty lists leave a property open, all others must hold."""

    ids: Sequence[int] | None = None
    flow_uuids: Sequence[str] | None = None
    contact_uuids: Sequence[str] | None = None
    group_uuids: Sequence[str] | None = None
    before: datetime | None = None
    after: datetime | None = None


def list_run_summaries(tx: Transaction, workspace_id: int, wanted: RunFilter, number: int, size: int) -> NumberedPage:
    """The runs of a workspace that fit, the one changed last first."""
    page = fetch_numbered_page(
        tx,
        record=SUMMARY,
        source=SOURCE,
        order=runs_order(),
        conditions=_find_conditions(tx, workspace_id, wanted),
        number=number,
        size=size,
    )
    return NumberedPage([_show(document) for document in page.records], page.count)


def read_run_summaries(tx: Transaction, workspace_id: int, start_id: int) -> list[str]:
    """The records of the runs that a start has made so far, by their contacts."""
    tx.flush()
    mine = (flow_run.c.workspace_id == workspace_id) & (flow_run.c.start_id == start_id)
    statement = select(as_text(SUMMARY)).select_from(SOURCE).where(mine).order_by(flow_run.c.contact_id)
    return [_show(document) for document in tx.execute(statement).scalars()]


def _find_conditions(tx: Transaction, workspace_id: int, wanted: RunFilter) -> list[ColumnElement[bool]]:
    """Flows and contacts are looked up first, so that the database goes through their runs and not everybody's."""
    rows = flow_run.c
    found = [rows.workspace_id == workspace_id]
    if wanted.ids:
        found.append(rows.id.in_(wanted.ids))
    for column, table, uuids in (
        (rows.flow_id, flow, wanted.flow_uuids),
        (rows.contact_id, contact, wanted.contact_uuids),
    ):
        if uuids:
            mine = (table.c.workspace_id == workspace_id) & table.c.uuid.in_([one for one in uuids if is_uuid(one)])
            ids = tx.execute(select(table.c.id).where(mine)).scalars().all()
            found.append(column == ids[0] if len(ids) == 1 else column.in_(ids))
    if wanted.group_uuids:
        theirs = group.c.uuid.in_([uuid for uuid in wanted.group_uuids if is_uuid(uuid)])
        members = select(group_membership.c.contact_id).join(group, group.c.id == group_membership.c.group_id)
        found.append(rows.contact_id.in_(members.where(group.c.workspace_id == workspace_id, theirs)))
    if wanted.before is not None:
        found.append(rows.modified_on <= wanted.before)
    if wanted.after is not None:
        found.append(rows.modified_on >= wanted.after)
    return found


def _show(document: str) -> str:
    """The record of a run: the results of all visits as a list, oldest first, and steps with what was said there."""
    run = orjson.loads(document)
    visits = run.pop("visits")
    said = [result for visit in visits for result in visit["results"]]
    run["values"] = sorted(map(_show_value, said), key=lambda value: str(value["time"]))
    run["steps"] = [
        {"node": step["node"], "type": visit["type"], "arrived_on": step["time"], "left_on": visit["left_on"]}
        | _show_last(visit["results"])
        for step, visit in zip(run["steps"], visits, strict=True)
    ]
    return orjson.dumps(run).decode()


def _show_last(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the last result of a visit was made of."""
    last = results[-1] if results else {"input": None, "value": None}
    return {"text": last["input"], "value": last["value"]}


def _show_value(result: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "node": result["node"],
        "label": result["name"],
        "category": result["category"],
        "text": result["input"],
        "value": _read_number(result["value"]),
        "rule_value": result["value"],
        "time": result["time"],
    }


def _read_number(text: str | None) -> int | float | str | None:
    """A plain number as a number; anything else, a phone number with its zero or plus too, as it is."""
    if text is None or not PLAIN_NUMBER.match(text):
        return text
    return float(text) if "." in text else int(text)
