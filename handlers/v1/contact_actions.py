"""`/api/v1/contact_actions.json`."""

from handlers.answers import Answer, no_content
from handlers.request import Request
from persistence.contacts import actions as contact_actions
from persistence.contacts.deletion import delete_contacts
from persistence.contacts.owners import find_contacts
from persistence.errors import InvalidInput
from persistence.groups.groups import find_manual_groups, hold_contacts
from persistence.sql.columns import is_uuid

WITH_GROUP = {"add": contact_actions.join_group, "remove": contact_actions.leave_group}
WITHOUT_GROUP = {
    "block": contact_actions.block_contacts,
    "unblock": contact_actions.unblock_contacts,
    "expire": contact_actions.expire_contacts,
    "archive": contact_actions.archive_messages_of,
    "delete": delete_contacts,
}


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
