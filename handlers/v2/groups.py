"""`/api/v2/groups.json`."""

from handlers.answers import Answer, ListAnswer, changed_record, created_record, no_content
from handlers.request import Call
from persistence.groups import groups

list_groups = ListAnswer(groups.GROUPS)


def write_group(call: Call, *, uuid: str | None = None) -> Answer:
    name = call.body["name"]
    if uuid is None:
        return created_record(call, groups.GROUPS, groups.create_group(call.tx, call.workspace.id, name))
    return changed_record(call, groups.GROUPS, groups.rename_group(call.tx, call.workspace.id, uuid, name))


def delete_group(call: Call, *, uuid: str) -> Answer:
    groups.remove_group(call.tx, call.workspace.id, uuid)
    return no_content()
