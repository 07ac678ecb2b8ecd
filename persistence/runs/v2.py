"""Runs as v2 shows them: the record, and the list with its filters."""

import re
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import JSON, ColumnElement, case, func, literal, literal_column, null, select

from flows.phones import national_format
from persistence.contacts.v2 import MASKED_PATH
from persistence.database import Transaction
from persistence.errors import Refused
from persistence.runs.runs import COMPLETED, EXPIRED, FAILED, INTERRUPTED
from persistence.sql.columns import is_uuid
from persistence.sql.json_sql import declare_record, json_record, json_record_or_null
from persistence.sql.pages import Order, Page, Position, fetch_page
from persistence.tables.contacts import contact, contact_urn
from persistence.tables.flow_starts import flow_start
from persistence.tables.flows import FLOW_REF, flow
from persistence.tables.runs import flow_run

EXIT_TYPES = {COMPLETED: COMPLETED, EXPIRED: EXPIRED, INTERRUPTED: INTERRUPTED, FAILED: INTERRUPTED}
NO_PATH = literal_column("'[]'", JSON())
NEVER = flow_run.c.id < 0
SHOWN_NUMBER = re.compile(r'"urn_display":"(\+[0-9]+)"')


def _first_urn(shown: ColumnElement[Any]) -> ColumnElement[Any]:
    """A column of a contact's preferred URN."""
    return (
        select(shown)
        .where(contact_urn.c.contact_id == contact.c.id)
        .order_by(contact_urn.c.priority, contact_urn.c.id)
        .limit(1)
        .correlate(contact)
        .scalar_subquery()
    )


def _build_record(*, masked: bool = False, with_path: bool = True) -> ColumnElement[Any]:
    path = literal(MASKED_PATH, literal_execute=True) if masked else contact_urn.c.path
    display = path if masked else func.coalesce(contact_urn.c.display, path)
    person = {
        "uuid": contact.c.uuid,
        "name": contact.c.name,
        "urn": _first_urn(contact_urn.c.scheme + literal_column("':'") + path),
        "urn_display": _first_urn(display),
    }
    return declare_record(
        {
            "uuid": flow_run.c.uuid,
            "id": flow_run.c.id,
            "flow": json_record(FLOW_REF),
            "contact": json_record(person),
            "start": json_record_or_null(flow_start.c.id, {"uuid": flow_start.c.uuid}),
            "responded": flow_run.c.responded,
            "path": flow_run.c.path if with_path else NO_PATH,
            "values": flow_run.c.results,
            "created_on": flow_run.c.created_on,
            "modified_on": flow_run.c.modified_on,
            "exited_on": flow_run.c.exited_on,
            "exit_type": case(EXIT_TYPES, value=flow_run.c.status, else_=null()),
        }
    )


RUN_RECORD = _build_record()
MASKED_RUN_RECORD = _build_record(masked=True)
"""The record in an anonymous workspace, which shows no address."""
RUN_RECORDS = {
    (False, True): RUN_RECORD,
    (True, True): MASKED_RUN_RECORD,
    (False, False): _build_record(with_path=False),
    (True, False): _build_record(masked=True, with_path=False),
}
"""By whether addresses are hidden and whether the path is shown."""

SOURCE = (
    flow_run.join(flow, flow.c.id == flow_run.c.flow_id)
    .join(contact, contact.c.id == flow_run.c.contact_id)
    .outerjoin(flow_start, flow_start.c.id == flow_run.c.start_id)
)


def runs_order(*, reverse: bool = False) -> Order:
    return Order(flow_run.c.modified_on, flow_run.c.id, descending=not reverse)


def list_runs(
    tx: Transaction,
    workspace_id: int,
    position: Position | None,
    size: int,
    *,
    run_id: int | None = None,
    uuid: str | None = None,
    flow_uuid: str | None = None,
    contact_uuid: str | None = None,
    responded: bool | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
    reverse: bool = False,
    masked: bool = False,
    with_path: bool = True,
) -> Page:
    """Runs by their last change, newest first; unknown flows and contacts give an empty page.

    `responded` chooses only when it is true. Raises Refused for a flow together with a contact.
    """
    if flow_uuid is not None and contact_uuid is not None:
        raise Refused("Parameters contact and flow cannot be used together.")
    conditions: list[ColumnElement[bool]] = [flow_run.c.workspace_id == workspace_id]
    if run_id is not None:
        conditions.append(flow_run.c.id == run_id)
    if uuid is not None:
        conditions.append(flow_run.c.uuid == uuid)
    if flow_uuid is not None:
        mine = (flow.c.workspace_id == workspace_id) & (flow.c.uuid == flow_uuid)
        conditions.append(flow_run.c.flow_id == select(flow.c.id).where(mine).scalar_subquery())
    if contact_uuid is not None:
        conditions.append(_of_contact(workspace_id, contact_uuid))
    if responded:
        conditions.append(flow_run.c.responded)
    if before is not None:
        conditions.append(flow_run.c.modified_on <= before)
    if after is not None:
        conditions.append(flow_run.c.modified_on >= after)
    page = fetch_page(
        tx,
        record=RUN_RECORDS[masked, with_path],
        source=SOURCE,
        source_id=flow_run.c.id,
        order=runs_order(reverse=reverse),
        conditions=conditions,
        position=position,
        size=size,
    )
    return Page([show_numbers(record) for record in page.records], page.next, page.previous)


def _of_contact(workspace_id: int, contact_uuid: str) -> ColumnElement[bool]:
    if not is_uuid(contact_uuid):
        return NEVER
    owner = select(contact.c.id).where(contact.c.workspace_id == workspace_id, contact.c.uuid == contact_uuid)
    return flow_run.c.contact_id == owner.scalar_subquery()


def show_numbers(record: str) -> str:
    """A record whose phone number is displayed as people write it; no quoted text can look like the place of one."""
    return SHOWN_NUMBER.sub(lambda found: f'"urn_display":"{_write_number(found.group(1))}"', record)


@lru_cache(maxsize=10_000)
def _write_number(number: str) -> str:
    return national_format(number)
