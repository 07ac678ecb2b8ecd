"""`/api/v2/contacts.json`."""

from collections.abc import Mapping
from decimal import Decimal

from flows.numbers import PlainNumber, render_decimal
from flows.urns import Urn
from handlers.answers import Answer, ListAnswer, changed_record, created_record, no_content
from handlers.request import Request
from persistence.contacts import deletion
from persistence.contacts import writes as contact_writes
from persistence.contacts.owners import find_contact, hold_owners, read_lookup, read_urns
from persistence.contacts.v2 import CONTACTS
from persistence.contacts.writes import ContactChange
from persistence.errors import InvalidInput, RecordMissing
from persistence.groups.groups import find_manual_groups

list_contacts = ListAnswer(CONTACTS)


def write_contact(request: Request, *, uuid: str | None = None, urn: str | None = None) -> Answer:
    workspace = request.workspace
    if urn is not None and "urns" in request.body:
        raise InvalidInput.on("urns", "Not allowed together with the parameter urn.")
    address = None if urn is None else read_lookup(request.tx, workspace, urn)
    contact_id = None if uuid is None and address is None else _find(request, uuid, address)
    if workspace.is_anonymous and contact_id is not None and "urns" in request.body:
        raise InvalidInput.on("urns", "URNs cannot be changed in an anonymous workspace.")
    change = _read_change(request, address if contact_id is None else None)
    if contact_id is None and uuid is not None:
        raise RecordMissing
    if contact_id is None:
        contact_id = contact_writes.create_contact(request.tx, workspace, change, by_agent=request.is_agent)
        return created_record(request, CONTACTS, contact_id)
    contact_writes.change_contact(request.tx, workspace, contact_id, change, by_agent=request.is_agent)
    return changed_record(request, CONTACTS, contact_id)


def delete_contact(request: Request, *, uuid: str | None = None, urn: str | None = None) -> Answer:
    workspace = request.workspace
    contact_id = _find(request, uuid, None if urn is None else read_lookup(request.tx, workspace, urn))
    if contact_id is None:
        raise RecordMissing
    deletion.delete_contacts(request.tx, workspace.id, [contact_id])
    return no_content()


def _find(request: Request, uuid: str | None, urn: Urn | None) -> int | None:
    if uuid is not None:
        return find_contact(request.tx, request.workspace.id, uuid)
    owners = hold_owners(request.tx, request.workspace.id, [urn] if urn is not None else [])
    return next((owner.contact_id for owner in owners.values()), None)


def _read_change(request: Request, first_urn: Urn | None) -> ContactChange:
    body = request.body
    urns = read_urns(request.tx, request.workspace, body["urns"]) if "urns" in body else None
    groups = body.get("groups")
    return ContactChange(
        name=body.get("name"),
        language=body.get("language"),
        urns=[first_urn] if first_urn is not None else urns,
        group_ids=None
        if groups is None
        else find_manual_groups(request.tx, request.workspace.id, groups, field="groups"),
        fields=_as_texts(body["fields"]) if "fields" in body else None,
        clears=frozenset(name for name in ("name", "language") if name in body and body[name] in (None, "")),
        are_urns_found_free=first_urn is not None,
    )


def _as_texts(values: Mapping[str, str | float | bool | None]) -> dict[str, str | None]:
    """Field values as strings, as people would have typed them."""
    return {key: _as_text(value) for key, value in values.items()}


def _as_text(value: str | float | bool | None) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return PlainNumber(render_decimal(Decimal(repr(value))))
