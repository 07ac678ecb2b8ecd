"""Starts as v2 shows them: the record, and the list with its filters."""

from typing import Any

from persistence.audience import list_contacts, list_groups
from persistence.lists import Condition, ListQuery, ListSpec, equals, reversible, within
from persistence.records import Record
from persistence.sql.columns import is_uuid, read_id
from persistence.tables.contacts import CONTACT_REF, GROUP_REF
from persistence.tables.flow_starts import IS_BY_USER, OF_START, flow_start
from persistence.tables.flows import FLOW_REF, flow

_FIELDS: dict[str, Any] = {
    "uuid": flow_start.c.uuid,
    "id": flow_start.c.id,
    "flow": Record(FLOW_REF),
    "status": flow_start.c.status,
    "progress": Record({"total": flow_start.c.total, "started": flow_start.c.started}),
    "groups": list_groups(OF_START, Record(GROUP_REF)),
    "contacts": list_contacts(OF_START, Record(CONTACT_REF)),
    "params": flow_start.c.params,
    "extra": flow_start.c.params,
    "restart_participants": flow_start.c.restart_participants,
    "exclude_active": flow_start.c.exclude_active,
    "created_on": flow_start.c.created_on,
    "modified_on": flow_start.c.modified_on,
    "error": flow_start.c.error,
}
START_RECORD = Record(_FIELDS)


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
