"""`/api/v2/contact_actions.json` and `contact_merges.json`."""

from handlers.answers import Answer, changed_record, no_content
from handlers.request import Request
from persistence.contacts import actions as contact_actions
from persistence.contacts.deletion import delete_contacts
from persistence.contacts.finding import find_contacts
from persistence.contacts.merging import merge_contacts as merge
from persistence.contacts.v2 import CONTACTS
from persistence.errors import InvalidInput
from persistence.groups.members import find_manual_groups, hold_contacts
from persistence.messages.circles import answer_again

WITH_GROUP = {"add": contact_actions.join_group, "remove": contact_actions.leave_group}
WITHOUT_GROUP = {
    "block": contact_actions.block_contacts,
    "unblock": contact_actions.unblock_contacts,
    "interrupt": contact_actions.interrupt_contacts,
    "archive_messages": contact_actions.archive_messages_of,
    "archive": contact_actions.archive_messages_of,
    "delete": delete_contacts,
    "answer_again": answer_again,
}


def act_on_contacts(request: Request) -> Answer:
    workspace = request.workspace
    action, group = request.body["action"], request.body.get("group")
    contact_ids = find_contacts(request.tx, workspace, request.body["contacts"])
    if action in WITH_GROUP:
        if not group:
            raise InvalidInput.across(f'The action "{action}" needs a group.')
        group_id = find_manual_groups(request.tx, workspace.id, [group], field="group")[0]
        WITH_GROUP[action](request.tx, workspace.id, contact_ids, group_id)
        return no_content()
    if group:
        raise InvalidInput.across(f'The action "{action}" takes no group.')
    hold_contacts(request.tx, workspace.id, contact_ids)
    WITHOUT_GROUP[action](request.tx, workspace.id, contact_ids)
    return no_content()


def merge_contacts(request: Request) -> Answer:
    workspace = request.workspace
    references = [request.body["contact"], request.body["other"]]
    found = [
        find_contacts(request.tx, workspace, [reference], field=name)[0]
        for name, reference in zip(("contact", "other"), references, strict=True)
    ]
    merge(request.tx, workspace, *found, user_id=request.credentials.user_id)
    return changed_record(request, CONTACTS, found[0])
