"""`/api/v2/contacts.json`."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from flows.numbers import render_decimal
from flows.urns import Urn
from handlers.answers import Answer, answer_page, created, no_content, ok
from handlers.request import Call
from persistence.contacts import v2 as contact_records
from persistence.contacts import writes as contact_writes
from persistence.contacts.addresses import find_urns, read_urns
from persistence.contacts.lookup import find_contact
from persistence.contacts.urns import find_owners
from persistence.contacts.writes import ContactChange
from persistence.errors import InvalidInput, RecordMissing, Refused
from persistence.groups.members import find_manual_groups
from persistence.sql.pages import Page, Position


def list_contacts(
    call: Call,
    *,
    uuid: str | None = None,
    urn: str | None = None,
    group: str | None = None,
    deleted: bool = False,
    before: datetime | None = None,
    after: datetime | None = None,
    reverse: bool = False,
) -> Answer:
    workspace = call.workspace
    address = None if urn is None else _read_lookup(call, urn)

    def fetch(position: Position | None, size: int) -> Page:
        return contact_records.list_contacts(
            call.tx,
            workspace.id,
            position,
            size,
            uuid=uuid,
            urn=address,
            group_reference=group,
            deleted=deleted,
            before=before,
            after=after,
            reverse=reverse,
            masked=workspace.is_anonymous,
            for_agent=call.is_agent,
        )

    return answer_page(call, contact_records.contacts_order(reverse=reverse), fetch)


def write_contact(call: Call, *, uuid: str | None = None, urn: str | None = None) -> Answer:
    workspace = call.workspace
    if urn is not None and "urns" in call.body:
        raise InvalidInput.on("urns", "Not together with the parameter urn.")
    address = None if urn is None else _read_lookup(call, urn)
    contact_id = None if uuid is None and address is None else _find(call, uuid, address)
    if workspace.is_anonymous and contact_id is not None and "urns" in call.body:
        raise InvalidInput.on("urns", "Addresses cannot be changed in an anonymous workspace.")
    change = _read_change(call, address if contact_id is None else None)
    if contact_id is None and uuid is not None:
        raise RecordMissing
    if contact_id is None:
        return created(_read(call, contact_writes.create_contact(call.tx, workspace, change, by_agent=call.is_agent)))
    contact_writes.change_contact(call.tx, workspace, contact_id, change, by_agent=call.is_agent)
    return ok(_read(call, contact_id))


def delete_contact(call: Call, *, uuid: str | None = None, urn: str | None = None) -> Answer:
    workspace = call.workspace
    contact_id = _find(call, uuid, None if urn is None else _read_lookup(call, urn))
    if contact_id is None:
        raise RecordMissing
    contact_writes.delete_contacts(call.tx, workspace.id, [contact_id])
    return no_content()


def _read(call: Call, contact_id: int) -> str:
    masked = call.workspace.is_anonymous
    return contact_records.read_contact(call.tx, call.workspace.id, contact_id, masked=masked, for_agent=call.is_agent)


def _read_lookup(call: Call, urn: str) -> Urn:
    if call.workspace.is_anonymous:
        raise Refused("Contacts cannot be looked up by URN in an anonymous workspace.")
    found = find_urns(call.tx, call.workspace, [urn])
    if urn not in found:
        raise Refused("Parameter urn must be a URN; phone numbers need a country code.")
    return found[urn]


def _find(call: Call, uuid: str | None, urn: Urn | None) -> int | None:
    if uuid is not None:
        return find_contact(call.tx, call.workspace.id, uuid)
    owners = find_owners(call.tx, call.workspace.id, [urn] if urn is not None else [])
    return next((owner.contact_id for owner in owners.values()), None)


def _read_change(call: Call, first_urn: Urn | None) -> ContactChange:
    body = call.body
    urns = read_urns(call.tx, call.workspace, body["urns"]) if "urns" in body else None
    groups = body.get("groups")
    return ContactChange(
        name=body.get("name"),
        language=body.get("language"),
        urns=[first_urn] if first_urn is not None else urns,
        group_ids=None if groups is None else find_manual_groups(call.tx, call.workspace.id, groups, field="groups"),
        fields=_as_texts(body["fields"]) if "fields" in body else None,
        clears=frozenset(name for name in ("name", "language") if name in body and body[name] in (None, "")),
        are_urns_found_free=first_urn is not None,
    )


def _as_texts(values: Mapping[str, str | float | bool | None]) -> dict[str, str | None]:
    """Field values as the texts that people would have typed."""
    return {key: _as_text(value) for key, value in values.items()}


def _as_text(value: str | float | bool | None) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return render_decimal(Decimal(repr(value)))
