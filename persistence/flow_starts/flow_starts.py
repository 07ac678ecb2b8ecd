"""Flow starts: requests to start contacts in a flow, checked against the workspace, which workers perform later in
batches.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Executable, exists, literal, select

from flows.phones import PhoneError, parse_number
from persistence.contacts.audience import (
    Audience,
    check_audience,
    find_groups,
    list_contacts,
    list_groups,
    read_audience,
    save_audience,
)
from persistence.contacts.owners import explain_phone, find_contacts, read_recipients
from persistence.contacts.urns import ensure_owners
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.flows.records import require_active_flow
from persistence.leases import beside_index
from persistence.lists import Condition, ListQuery, ListSpec, belongs_to, equals, insert_read, reversible, within
from persistence.records import Record, Shown, optional, write_record
from persistence.sessions.parking import IS_WAITING
from persistence.sql.columns import BigId, columns_for, is_uuid, new_uuid, read_id, time_text
from persistence.stamps import final_time, stamped
from persistence.statements import among, param, statement
from persistence.tables.accounts import user, user_ref
from persistence.tables.channels import channel
from persistence.tables.contacts import ACTIVE, CONTACT_REF, GROUP_REF, contact
from persistence.tables.flows import (
    API,
    API_V1,
    FLOW_REF,
    IS_BY_USER,
    OF_START,
    PENDING,
    flow,
    flow_run,
    flow_session,
    flow_start,
)
from persistence.workspaces.records import Workspace

COMPLETED, FAILED, INTERRUPTED = "completed", "failed", "interrupted"

TRIGGER, CAMPAIGN, FLOW_ACTION, TICKET = "trigger", "campaign", "flow_action", "ticket"
DONE = "done"
WAKE = "starts"

PARAMS_LENGTH = 10_000
PHONE = "tel"

_FIELDS: dict[str, Any] = {
    "uuid": flow_start.c.uuid,
    "id": flow_start.c.id,
    "flow": Record(FLOW_REF),
    "status": flow_start.c.status,
    "progress": Record({"total": flow_start.c.total, "started": flow_start.c.started}),
    "groups": list_groups(OF_START, Record(GROUP_REF)),
    "contacts": list_contacts(OF_START, Record(CONTACT_REF)),
    "query": flow_start.c.query,
    "params": flow_start.c.params,
    "extra": flow_start.c.params,
    "restart_participants": flow_start.c.restart_participants,
    "exclude_active": flow_start.c.exclude_active,
    "created_on": flow_start.c.created_on,
    "modified_on": flow_start.c.modified_on,
    "error": flow_start.c.error,
    "created_by": optional(user.c.id, user_ref(user)),
}
START_RECORD = Record(_FIELDS)


def _of_other(column: ColumnElement[Any], found: ColumnElement[bool]) -> ColumnElement[Any]:
    return select(column).where(found).scalar_subquery()


_IS_FLOW, _IS_CREATOR = flow.c.id == param("flow_id", BigId), user.c.id == param("created_by_id")
_ROW = Record(
    {
        **_FIELDS,
        **dict.fromkeys(("contacts", "groups", "modified_on")),
        "flow": Record({name: _of_other(column, _IS_FLOW) for name, column in FLOW_REF.items()}),
        "created_by": optional(
            _of_other(user.c.id, _IS_CREATOR),
            {name: _of_other(column, _IS_CREATOR) for name, column in user_ref(user).items()},
        ),
    }
)
"""What the INSERT of a start tells of it."""


@dataclass(frozen=True, slots=True)
class StartRow:
    """The stored data of a start that is needed to find its contacts."""

    id: int
    uuid: str
    workspace_id: int
    flow_id: int
    query: str | None
    restart_participants: bool
    exclude_active: bool
    makes_runs: bool
    contact_count: int
    batch_count: int
    last_contact_id: int
    is_expanded: bool


START_COLUMNS = columns_for(StartRow, flow_start)


@dataclass(frozen=True, slots=True)
class NewStart:
    """A start to create: its flow and its audience."""

    flow_id: int
    start_type: str
    audience: Audience
    restart_participants: bool = True
    exclude_active: bool = False
    makes_runs: bool = False
    params: Mapping[str, Any] | None = None
    parent: Mapping[str, Any] | None = None
    created_by_id: int | None = None


def create_start(tx: Transaction, workspace_id: int, new: NewStart) -> int:
    """Store a start as `pending` and wake the workers that perform it; returns its id."""
    return int(_create(tx, workspace_id, new)["id"])


def create_shown(tx: Transaction, workspace_id: int, new: NewStart) -> str:
    """Stores the start of a request; returns it as its list shows it."""
    shown = _create(tx, workspace_id, new) | new.audience.shown
    return write_record(shown | {"modified_on": time_text(final_time(tx, workspace_id))})


def _create(tx: Transaction, workspace_id: int, new: NewStart) -> Shown:
    values = {
        "workspace_id": workspace_id,
        "uuid": new_uuid(),
        "flow_id": new.flow_id,
        "status": PENDING,
        "start_type": new.start_type,
        "restart_participants": new.restart_participants,
        "exclude_active": new.exclude_active,
        "makes_runs": new.makes_runs,
        "params": None if new.params is None else dict(new.params),
        "parent": None if new.parent is None else dict(new.parent),
        "query": new.audience.query,
        "created_by_id": new.created_by_id,
        "created_on": tx.now,
        "modified_on": stamped(tx, flow_start, workspace_id),
    }
    shown = insert_read(tx, flow_start, values, _ROW)
    save_audience(tx, workspace_id, OF_START, shown["id"], new.audience)
    tx.wake(WAKE)
    return shown


def take_contacts(tx: Transaction, start: StartRow, ids: Sequence[int]) -> Sequence[int]:
    """Those of these contacts that are active and match the start's conditions; those who get runs at once are
    locked."""
    wishes = list_wishes(start)
    if not (wishes or start.makes_runs):
        return [one for (one,) in _find_active.rows(tx, start.workspace_id, ids)]
    active = (contact.c.workspace_id == start.workspace_id) & (contact.c.status == ACTIVE) & ~contact.c.is_deleted
    statement = select(contact.c.id).where(active).order_by(contact.c.id)
    if ids and start.makes_runs:
        # Their runs are read after waiting for transactions that create some for them, so in a second statement.
        holding = statement.with_for_update(read=not wishes)
        ids = tx.execute(holding.where(contact.c.id.in_(ids))).scalars().all()
        if not wishes:
            return ids
    return tx.execute(statement.where(contact.c.id.in_(ids), *wishes)).scalars().all() if ids else []


def list_wishes(start: StartRow) -> list[ColumnElement[bool]]:
    """The conditions of a start for contacts: to be in no flow, never to have been in this flow."""
    wishes: list[ColumnElement[bool]] = []
    if not start.restart_participants:
        theirs = (flow_run.c.workspace_id == start.workspace_id) & (flow_run.c.contact_id == contact.c.id)
        others = theirs & (flow_run.c.flow_id == start.flow_id) & flow_run.c.start_id.is_distinct_from(start.id)
        wishes.append(~exists(select(flow_run.c.id).where(others).correlate(contact)))
    if start.exclude_active:
        waits = select(flow_session.c.id).where(flow_session.c.contact_id == contact.c.id, IS_WAITING)
        wishes.append(~exists(waits.correlate(contact)))
    return wishes


def read_form(tx: Transaction, workspace: Workspace, body: Mapping[str, Any], created_by_id: int | None) -> NewStart:
    """The start of a v2 request; contacts are created for new URNs. Raises InvalidInput."""
    flow_id = require_active_flow(tx, workspace.id, body["flow"], field="flow")
    params = _read_params(body)
    check_audience(body, allows_query=True)
    return NewStart(
        flow_id,
        API,
        read_audience(tx, workspace, body, allows_query=True),
        restart_participants=bool(body.get("restart_participants", True)),
        exclude_active=bool(body.get("exclude_active", False)),
        params=params,
        created_by_id=created_by_id,
    )


def read_phone_form(
    tx: Transaction, workspace: Workspace, body: Mapping[str, Any], created_by_id: int | None
) -> NewStart:
    """The start of a v1 request, whose runs are created at once. Raises InvalidInput."""
    flow_id = require_active_flow(tx, workspace.id, body["flow_uuid"], field="flow_uuid")
    names = ("phone", "contact", "contacts", "groups")
    listed = {name: [given] if isinstance(given := body.get(name) or [], str) else given for name in names}
    if not any(listed.values()):
        raise InvalidInput.across("At least one phone number, contact or group is required.")
    contact_ids = [
        contact_id
        for name in ("contact", "contacts")
        for contact_id in find_contacts(tx, workspace, listed[name], field=name)
    ]
    group_ids = find_groups(tx, workspace.id, listed["groups"])
    return NewStart(
        flow_id,
        API_V1,
        Audience(contact_ids, group_ids, address_ids=_find_phone_owners(tx, workspace, listed["phone"], contact_ids)),
        restart_participants=bool(body.get("restart_participants", True)),
        makes_runs=True,
        params=body.get("extra") or None,
        created_by_id=created_by_id,
    )


def _named(_query: ListQuery, reference: str) -> Condition:
    """The condition for a UUID or an id in digits."""
    return flow_start.c.uuid == reference if is_uuid(reference) else flow_start.c.id == read_id(reference)


STARTS = ListSpec(
    flow_start,
    START_RECORD,
    reversible(flow_start.c.modified_on, flow_start.c.id),
    source=flow_start.join(flow, flow.c.id == flow_start.c.flow_id).outerjoin(
        user, user.c.id == flow_start.c.created_by_id
    ),
    standing=[IS_BY_USER],
    options=frozenset({"reverse"}),
    is_followed=True,
    filters={
        "uuid": equals(flow_start.c.uuid),
        "id": _named,
        "flow": belongs_to(flow_start.c.flow_id, flow),
        **within(flow_start.c.modified_on),
    },
)


@statement
def _find_active(workspace_id: int, contact_ids: Sequence[int]) -> Executable:
    mine = (beside_index(contact.c.workspace_id) == workspace_id) & among(contact.c.id, contact_ids)
    active = (contact.c.status == literal(ACTIVE, literal_execute=True)) & ~contact.c.is_deleted
    return select(contact.c.id).where(mine, active).order_by(contact.c.id)


def _read_params(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The values for the flow, under either name. Raises InvalidInput for too many characters."""
    name = "params" if body.get("params") is not None else "extra"
    params: Mapping[str, Any] | None = body.get(name)
    if params is not None and len(orjson.dumps(params).decode()) > PARAMS_LENGTH:
        raise InvalidInput.on(name, f"Must be at most {PARAMS_LENGTH} characters as JSON.")
    return params


def _find_phone_owners(tx: Transaction, workspace: Workspace, texts: list[str], beside: Sequence[int]) -> list[int]:
    """The contacts of phone numbers, created for new numbers, and locked together with those `beside`. Raises
    InvalidInput."""
    if not texts:
        return []
    urns = read_recipients(tx, workspace, [f"{PHONE}:{text}" for text in texts], field="phone")
    for index, text in enumerate(texts):
        try:
            parse_number(text, workspace.country or "")
        except PhoneError as error:
            raise InvalidInput.at("phone", index, explain_phone(text)) from error
    mine = (channel.c.workspace_id == workspace.id) & channel.c.is_active
    if not any(PHONE in schemes for schemes in tx.execute(select(channel.c.schemes).where(mine)).scalars()):
        raise InvalidInput.on("phone", "No channel of this workspace can send to phone numbers.")
    owners = ensure_owners(tx, workspace.id, urns, beside=beside, changes=True)
    return [owners[urn.identity].contact_id for urn in urns]
