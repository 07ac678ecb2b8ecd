"""Runs as v1 shows them: plain UUIDs, all steps with their texts, and filters with several values."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import case, null

from persistence.contacts.filters import in_groups
from persistence.database import Transaction
from persistence.lists import ListQuery, ListSpec, found_first, one_of, within
from persistence.runs.runs import COMPLETED, EXPIRED
from persistence.sql.json_sql import declare_record
from persistence.sql.pages import Order
from persistence.tables.contacts import contact
from persistence.tables.flows import flow
from persistence.tables.runs import flow_run
from persistence.workspaces import Workspace

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
"""The columns that are read of a run; `_show` builds the record from them."""

PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?\Z")


def _show(document: str) -> str:
    """The record of a run: the results of all visits as a list, oldest first, and steps with their texts."""
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
    """The text and value of the last result of a visit."""
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
    """A plain number as a number; anything else, also a phone number with a zero or a plus sign, unchanged."""
    if text is None or not PLAIN_NUMBER.match(text):
        return text
    return float(text) if "." in text else int(text)


RUNS_V1 = ListSpec(
    flow_run,
    SUMMARY,
    Order(flow_run.c.modified_on, flow_run.c.id),
    source=flow_run.join(flow, flow.c.id == flow_run.c.flow_id).join(contact, contact.c.id == flow_run.c.contact_id),
    show=_show,
    filters={
        "run": one_of(flow_run.c.id),
        "flow_uuid": found_first(flow_run.c.flow_id, flow),
        "contact": found_first(flow_run.c.contact_id, contact),
        "group_uuids": in_groups(flow_run.c.contact_id),
        **within(flow_run.c.modified_on),
    },
)


def read_runs_of_start(tx: Transaction, workspace: Workspace, start_id: int) -> list[str]:
    """The records of the runs that a start has created so far, by their contacts."""
    is_theirs = flow_run.c.start_id == start_id
    return RUNS_V1.read(ListQuery(tx, workspace), is_theirs, order_by=[flow_run.c.contact_id])
