"""Runs as both generations show them: the records, and the lists with their filters."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Integer,
    String,
    case,
    func,
    literal,
    literal_column,
    null,
    select,
)

from flows.phones import national_format
from flows.words import snakify
from persistence.contacts.records import MASKED_PATH, in_groups
from persistence.database import Transaction
from persistence.errors import Refused
from persistence.lists import (
    Condition,
    ListQuery,
    ListSpec,
    Rule,
    belongs_to,
    equals,
    found_first,
    one_of,
    reversible,
    within,
)
from persistence.pages import Order
from persistence.records import Parsed, Record, Shown, Template, join_first, optional
from persistence.runs.runs import COMPLETED, EXPIRED, FAILED, INTERRUPTED
from persistence.sql.columns import UtcDateTime
from persistence.tables.contacts import contact, contact_urn
from persistence.tables.flows import FLOW_REF, GOES_ON, LastNode, RunEnd, flow, flow_run, flow_start
from persistence.workspaces.records import Workspace

BY_CONTACT = Order(flow_run.c.contact_id, flow_run.c.id, descending=False)
EXIT_TYPES = {COMPLETED: COMPLETED, EXPIRED: EXPIRED, INTERRUPTED: INTERRUPTED, FAILED: INTERRUPTED}
MOST_LOOKED_AT = 10_000
"""Runs of a flow whose results are read for one request, those that changed last."""
LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
NUMBER = re.compile(r"\+[0-9]+")

SHOWN_URN = contact_urn.alias("shown_urn")
"""The preferred URN of the run's contact, if there is one."""


SOURCE = join_first(
    flow_run.join(flow, flow.c.id == flow_run.c.flow_id)
    .join(contact, contact.c.id == flow_run.c.contact_id)
    .outerjoin(flow_start, flow_start.c.id == flow_run.c.start_id),
    SHOWN_URN,
    contact_urn,
    contact_urn.c.contact_id == contact.c.id,
    (contact_urn.c.priority, contact_urn.c.id),
    contact,
)


class ResultPart(
    Template,
    sqlite="""json_extract({0}, '$."' || {1} || '".' || {2})""",
    postgresql=r"""(replace({0}::text, '\u0000', '\ufffd')::json -> {1} ->> {2})""",
    kind=String(),
):
    """The `name`, `value` or `category` of the result with a key. PostgreSQL reads no document in which somebody wrote
    the character U+0000.
    """


PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?\Z")


def first_urn(shown: ColumnElement[Any]) -> ColumnElement[Any]:
    """A column of a contact's preferred URN."""
    return (
        select(shown)
        .where(contact_urn.c.contact_id == contact.c.id)
        .order_by(contact_urn.c.priority, contact_urn.c.id)
        .limit(1)
        .correlate(contact)
        .scalar_subquery()
    )


def _show_number(person: Shown) -> Shown:
    """A person with their phone number as people write it."""
    number = person["urn_display"]
    return person if number is None else person | {"urn_display": _write_number(number)}


def _build_record(*, masked: bool = False, with_path: bool = True) -> Record:
    rows = SHOWN_URN.c
    path = literal(MASKED_PATH, literal_execute=True) if masked else rows.path
    display = path if masked else func.coalesce(rows.display, path)
    person = {
        "uuid": contact.c.uuid,
        "name": contact.c.name,
        "urn": rows.scheme + literal_column("':'") + path,
        "urn_display": case((rows.id.is_not(None), display), else_=null()),
    }
    return Record(
        {
            "uuid": flow_run.c.uuid,
            "id": flow_run.c.id,
            "flow": Record(FLOW_REF),
            "contact": Record(person, show=_show_number),
            "start": optional(flow_start.c.id, {"uuid": flow_start.c.uuid}),
            "responded": flow_run.c.responded,
            "path": flow_run.c.path if with_path else [],
            "values": flow_run.c.results,
            "created_on": flow_run.c.created_on,
            "modified_on": flow_run.c.modified_on,
            "exited_on": flow_run.c.exited_on,
            "exit_type": case(EXIT_TYPES, value=flow_run.c.status, else_=null()),
        }
    )


RUN_RECORD = _build_record()
MASKED_RUN_RECORD = _build_record(masked=True)
"""The record in an anonymous workspace, which shows no URN."""
RUN_RECORDS = {
    (False, True): RUN_RECORD,
    (True, True): MASKED_RUN_RECORD,
    (False, False): _build_record(with_path=False),
    (True, False): _build_record(masked=True, with_path=False),
}
"""By whether the workspace is anonymous and whether the path is shown."""


def _record(query: ListQuery) -> Record:
    return RUN_RECORDS[query.workspace.is_anonymous, query.values.get("paths", True)]


def _not_of_both(query: ListQuery) -> list[Condition]:
    if query.values.keys() >= {"flow", "contact"}:
        raise Refused("Parameters contact and flow cannot be used together.")
    return []


def _of_flow(rule: Rule) -> Rule:
    """A filter of the runs of one flow."""

    def apply(query: ListQuery, value: Any) -> Condition | Sequence[Condition]:
        if "flow" not in query.values:
            raise Refused("Parameters status, node, result and category need the parameter flow.")
        return rule(query, value)

    return apply


def _with_result(query: ListQuery, name: str) -> list[Condition]:
    """Runs that have a result, in a category if one is given, among those of the flow that changed last: an index of
    all answers would make each of them dearer.
    """
    key = literal(snakify(name))
    wanted = query.values.get("category")
    part, looked_at = partial(ResultPart, flow_run.c.results, key), flow_run.alias("looked_at").c
    has_it = part(literal("name")).is_not(None) if wanted is None else part(literal("category")) == wanted
    known = [belongs_to(looked_at.flow_id, flow)(query, query.values["flow"])]
    if "before" in query.values:
        known.append(looked_at.modified_on <= query.values["before"])
    last = select(looked_at.modified_on).where(*known).order_by(looked_at.modified_on.desc(), looked_at.id.desc())
    oldest = last.limit(literal_column("1", Integer)).offset(literal_column(str(MOST_LOOKED_AT - 1), Integer))
    return [has_it, flow_run.c.modified_on >= func.coalesce(oldest.scalar_subquery(), literal(LONG_AGO, UtcDateTime))]


def _with_category(query: ListQuery, _name: str) -> list[Condition]:
    if "result" not in query.values:
        raise Refused("Parameter category needs the parameter result.")
    return []


def _with_response(_query: ListQuery, responded: bool) -> list[Condition]:
    """False is not a filter."""
    return [flow_run.c.responded] if responded else []


RUNS = ListSpec(
    flow_run,
    _record,
    reversible(flow_run.c.modified_on, flow_run.c.id),
    source=SOURCE,
    standing=_not_of_both,
    options=frozenset({"paths", "reverse"}),
    is_followed=True,
    filters={
        "id": equals(flow_run.c.id),
        "uuid": equals(flow_run.c.uuid),
        "flow": belongs_to(flow_run.c.flow_id, flow),
        "contact": belongs_to(flow_run.c.contact_id, contact),
        "responded": _with_response,
        "status": _of_flow(equals(RunEnd(flow_run.c.status))),
        "node": _of_flow(lambda _query, node: [GOES_ON, LastNode(flow_run.c.path) == node]),
        "result": _of_flow(_with_result),
        "category": _of_flow(_with_category),
        **within(flow_run.c.modified_on),
    },
)


def _show(run: Shown) -> Shown:
    """The record of a run: the results of all visits as a list, oldest first, and steps with their texts."""
    visits = run.pop("visits")
    said = [result for visit in visits for result in visit["results"]]
    run["values"] = sorted(map(_show_value, said), key=lambda value: str(value["time"]))
    run["steps"] = [
        {"node": step["node"], "type": visit["type"], "arrived_on": step["time"], "left_on": visit["left_on"]}
        | _show_last(visit["results"])
        for step, visit in zip(run["steps"], visits, strict=True)
    ]
    return run


SUMMARY = Record(
    {
        "run": flow_run.c.id,
        "flow_uuid": flow.c.uuid,
        "flow": flow.c.id,
        "contact": contact.c.uuid,
        "completed": flow_run.c.status == COMPLETED,
        "steps": Parsed(flow_run.c.path),
        "visits": Parsed(flow_run.c.visits),
        "created_on": flow_run.c.created_on,
        "modified_on": flow_run.c.modified_on,
        "expires_on": flow_run.c.expires_on,
        "expired_on": case((flow_run.c.status == EXPIRED, flow_run.c.exited_on), else_=null()),
    },
    show=_show,
)

RUNS_V1 = ListSpec(
    flow_run,
    SUMMARY,
    Order(flow_run.c.modified_on, flow_run.c.id),
    source=flow_run.join(flow, flow.c.id == flow_run.c.flow_id).join(contact, contact.c.id == flow_run.c.contact_id),
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
    return RUNS_V1.read(ListQuery(tx, workspace), flow_run.c.start_id == start_id, order=BY_CONTACT)


@lru_cache(maxsize=10_000)
def _write_number(number: str) -> str:
    return national_format(number) if NUMBER.fullmatch(number) else number


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
