"""Checks a request for a start against the workspace (contract reference, flow starts and v1 runs)."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import select

from flows.phones import PhoneError, parse_number
from persistence.audience import Audience, check_audience, find_groups, read_audience
from persistence.contacts.addresses import explain_phone, read_recipients
from persistence.contacts.finding import find_contacts
from persistence.contacts.urns import ensure_owners
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.flow_starts.flow_starts import NewStart
from persistence.flow_starts.states import API, API_V1
from persistence.flows.flows import require_active_flow
from persistence.tables.channels import channel
from persistence.workspaces import Workspace

PARAMS_LENGTH = 10_000
PHONE = "tel"


def read_form(tx: Transaction, workspace: Workspace, body: Mapping[str, Any], created_by_id: int | None) -> NewStart:
    """The start of a v2 request; contacts are created for new URNs. Raises InvalidInput."""
    flow_id = require_active_flow(tx, workspace.id, body["flow"], field="flow")
    params = _read_params(body)
    check_audience(body)
    return NewStart(
        flow_id,
        API,
        read_audience(tx, workspace, body),
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
