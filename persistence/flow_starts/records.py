"""Starts as v2 shows them: the record, and the list with its filters."""

from typing import Any

from sqlalchemy import ColumnElement

from persistence.lists import Condition, ListQuery, ListSpec, equals, reversible, within
from persistence.sql.columns import is_uuid, read_id
from persistence.sql.json_sql import declare_record, json_list, json_record
from persistence.tables.contacts import CONTACT_REF, GROUP_REF
from persistence.tables.flow_starts import IS_BY_USER, OF_START, flow_start
from persistence.tables.flows import FLOW_REF, flow

_FIELDS: dict[str, ColumnElement[Any]] = {
    "uuid": flow_start.c.uuid,
    "id": flow_start.c.id,
    "flow": json_record(FLOW_REF),
    "status": flow_start.c.status,
    "progress": json_record({"total": flow_start.c.total, "started": flow_start.c.started}),
    "groups": json_list(OF_START.list_groups(json_record(GROUP_REF))),
    "contacts": json_list(OF_START.list_contacts(json_record(CONTACT_REF))),
    "params": flow_start.c.params,
    "extra": flow_start.c.params,
    "restart_participants": flow_start.c.restart_participants,
    "exclude_active": flow_start.c.exclude_active,
    "created_on": flow_start.c.created_on,
    "modified_on": flow_start.c.modified_on,
    "error": flow_start.c.error,
}
START_RECORD = declare_record(_FIELDS)


def _named(_query: ListQuery, reference: str) -> Condition:
    """The condition for a UUID or an id in digits."""
    return flow_start.c.uuid == reference if is_uuid(reference) else flow_start.c.id == read_id(reference)


STARTS = ListSpec(
    flow_start,
    START_RECORD,
    reversible(flow_start.c.modified_on, flow_start.c.id),
    source=flow_start.join(flow, flow.c.id == flow_start.c.flow_id),
    standing=[IS_BY_USER],
    options=frozenset({"reverse"}),
    is_followed=True,
    filters={"uuid": equals(flow_start.c.uuid), "id": _named, **within(flow_start.c.modified_on)},
)
