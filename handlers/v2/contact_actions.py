"""`/api/v2/contact_actions.json`, `contact_merges.json`, `contact_doubles.json` and `contact_renumberings.json`."""

from dataclasses import asdict

from flows.phones import is_country
from handlers.answers import Answer, ListAnswer, as_json, changed_record, no_content
from handlers.request import Request
from persistence.contacts import actions as contact_actions
from persistence.contacts.deletion import delete_contacts
from persistence.contacts.merging import DOUBLES, EXAMPLES, Renumbering, count_doubles, merge_doubles, renumber_some
from persistence.contacts.merging import merge_contacts as merge
from persistence.contacts.owners import find_contacts
from persistence.contacts.v2 import CONTACTS
from persistence.errors import InvalidInput
from persistence.groups.groups import find_manual_groups, hold_contacts
from persistence.messages.incoming import answer_again

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


list_contact_doubles = ListAnswer(DOUBLES)


def merge_contact_doubles(request: Request) -> Answer:
    tx, workspace, kind, user_id = request.tx, request.workspace, request.body["kind"], request.credentials.user_id
    merged = 0 if request.body.get("dry_run") else merge_doubles(tx, workspace, kind, user_id=user_id)
    return as_json(200, {"merged": merged, "left": count_doubles(tx, workspace, kind)})


def renumber_contacts(request: Request) -> Answer:
    body, workspace = request.body, request.workspace
    country, applied = body.get("country", ""), body.get("apply", False)
    if country and not is_country(country):
        raise InvalidInput.on("country", "There is no country with this code.")
    rule, after = Renumbering(body["old"], body["new"], country), int(body.get("after", "0"))
    following, report = renumber_some(request.tx, workspace.id, rule, after, writes=applied)
    shown = asdict(report)
    for name in ("examples", "taken_examples"):
        shown[name] = [] if workspace.is_anonymous else shown[name][:EXAMPLES]
    return as_json(200, {"applied": applied, **shown, "next": str(following) if following else None})
