"""`/api/v1/contacts.json` and `contact_actions.json`."""

from collections.abc import Callable, Sequence
from typing import Any

from flows.urns import Urn
from handlers.answers import Answer, NumberedListAnswer, created_record, no_content
from handlers.request import Request
from persistence.contacts import bulk as contact_actions
from persistence.contacts import deletion
from persistence.contacts import records as contacts
from persistence.contacts import writes as contact_writes
from persistence.contacts.owners import find_contact, find_contacts, hold_owners, read_urns
from persistence.contacts.writes import ContactChange
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.groups.groups import find_manual_groups, hold_contacts
from persistence.lists import ListQuery
from persistence.sql.columns import is_uuid
from persistence.sql.names import must_exist

list_contacts = NumberedListAnswer(contacts.CONTACTS_V1)

WITH_GROUP = {"add": contact_actions.join_group, "remove": contact_actions.leave_group}
WITHOUT_GROUP: dict[str, Callable[[Transaction, int, Sequence[int]], object]] = {
    "block": contact_actions.block_contacts,
    "unblock": contact_actions.unblock_contacts,
    "expire": contact_actions.expire_contacts,
    "archive": contact_actions.archive_messages_of,
    "delete": deletion.delete_contacts,
}


def write_contact(request: Request) -> Answer:
    workspace = request.workspace
    urns = read_urns(request.tx, workspace, _texts(request, "urns"))
    contact_id = _find_contact(request, urns)
    change = _read_change(request, urns, contact_id)
    if contact_id is None:
        contact_id = contact_writes.create_contact(request.tx, workspace, change)
    else:
        _change(request, contact_id, change)
    return created_record(request, contacts.CONTACTS_V1, contact_id)


def delete_contacts(request: Request, **values: Any) -> Answer:
    deletion.delete_matching_contacts(ListQuery(request.tx, request.workspace, values))
    return no_content()


def act_on_contacts(request: Request) -> Answer:
    workspace = request.workspace
    action, given = request.body["action"], request.body["contacts"]
    contact_ids = find_contacts(request.tx, workspace, [given] if isinstance(given, str) else given)
    if not contact_ids:
        raise InvalidInput.on("contacts", "An empty value is not allowed.")
    group_id = _find_group(request, action)
    hold_contacts(request.tx, workspace.id, contact_ids)
    if group_id is None:
        WITHOUT_GROUP[action](request.tx, workspace.id, contact_ids)
    else:
        WITH_GROUP[action](request.tx, workspace.id, contact_ids, group_id)
    return no_content()


def _find_contact(request: Request, urns: Sequence[Urn]) -> int | None:
    """The contact that the body identifies by `uuid` or by URNs; None if a new one is to be created."""
    workspace_id, uuid = request.workspace.id, request.body.get("uuid")
    if uuid is None and not urns:
        raise InvalidInput.on("urns", "A value is required.", "required")
    if request.workspace.is_anonymous:
        return _find_unnamed(request, urns)
    owners = {owner.contact_id for owner in hold_owners(request.tx, workspace_id, urns).values()}
    if len(owners) > 1:
        raise InvalidInput.across("These URNs belong to more than one contact.")
    if uuid is None:
        return next(iter(owners), None)
    contact_id = _find_by_uuid(request, uuid)
    if owners - {contact_id}:
        raise InvalidInput.across("These URNs belong to another contact.")
    return contact_id


def _find_unnamed(request: Request, urns: Sequence[Urn]) -> int | None:
    """`_find_contact` in an anonymous workspace: URNs are only for new contacts, and nothing tells whose they are."""
    uuid = request.body.get("uuid")
    if uuid is None:
        return None
    if urns:
        raise InvalidInput.on("urns", "URNs cannot be changed in an anonymous workspace.")
    return _find_by_uuid(request, uuid)


def _find_by_uuid(request: Request, uuid: str) -> int:
    return must_exist(find_contact(request.tx, request.workspace.id, uuid), "uuid", uuid)


def _read_change(request: Request, urns: Sequence[Urn], contact_id: int | None) -> ContactChange:
    """What the body changes; a contact found by URNs keeps its URNs and gets the others."""
    body, workspace_id = request.body, request.workspace.id
    # The record shows an empty list instead of hidden URNs; sending that list back removes none.
    hides = request.workspace.is_anonymous
    if contact_id is not None and body.get("uuid") is None:
        present = contacts.list_urns(request.tx, workspace_id, contact_id)
        known = {urn.identity for urn in present}
        urns = [*present, *(urn for urn in urns if urn.identity not in known)]
    fields = body.get("fields") or {}
    keys = contacts.find_field_keys(request.tx, workspace_id, list(fields))
    return ContactChange(
        name=body.get("name"),
        language=body.get("language"),
        urns=urns if "urns" in body and (urns or not hides) else None,
        group_ids=_group_ids(request),
        fields={keys[name]: value for name, value in fields.items()},
        clears=frozenset(name for name in ("name", "language") if name in body and body[name] in (None, "")),
        are_urns_found_free=not hides,
    )


def _group_ids(request: Request) -> list[int] | None:
    if "group_uuids" not in request.body:
        return None
    uuids = _texts(request, "group_uuids")
    for uuid in uuids:
        must_exist(uuid if is_uuid(uuid) else None, "group_uuids", uuid)
    return find_manual_groups(request.tx, request.workspace.id, uuids, field="group_uuids")


def _change(request: Request, contact_id: int, change: ContactChange) -> None:
    try:
        contact_writes.change_contact(request.tx, request.workspace, contact_id, change)
    except InvalidInput as error:
        if "groups" in error.errors:
            raise InvalidInput({"non_field_errors": error.errors["groups"]}) from error
        raise


def _texts(request: Request, name: str) -> list[str]:
    """A list of strings in the body; a single string need not be in a list."""
    given: str | list[str] = request.body.get(name) or []
    return [given] if isinstance(given, str) else given


def _find_group(request: Request, action: str) -> int | None:
    """The group of the action, by name or by UUID in one of two properties; None for actions without a group."""
    named = {name: request.body[name] for name in ("group", "label_uuid", "group_uuid") if request.body.get(name)}
    if action in WITHOUT_GROUP:
        if named:
            raise InvalidInput.across(f'The action "{action}" takes no group.')
        return None
    if not named:
        raise InvalidInput.across(f'The action "{action}" needs a group.')
    ids = {_look_up(request, field, reference) for field, reference in named.items()}
    if len(ids) > 1:
        raise InvalidInput.across("These values name different groups.")
    return ids.pop()


def _look_up(request: Request, field: str, reference: str) -> int:
    if field != "group" and not is_uuid(reference):
        raise InvalidInput.on(field, f'Nothing found for "{reference[:64]}".')
    return find_manual_groups(request.tx, request.workspace.id, [reference], field=field)[0]
