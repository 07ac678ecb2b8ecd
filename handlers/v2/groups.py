"""`/api/v2/groups.json`."""

from handlers.answers import Answer, ListAnswer, changed_record, inserted_record, no_content
from handlers.request import Request
from persistence.groups import groups
from persistence.groups.groups import GROUPS

list_groups = ListAnswer(GROUPS)


def write_group(request: Request, *, uuid: str | None = None) -> Answer:
    name = request.body["name"]
    if uuid is None:
        return inserted_record(request, GROUPS, groups.new_group(request.tx, request.workspace.id, name))
    return changed_record(request, GROUPS, groups.rename_group(request.tx, request.workspace.id, uuid, name))


def delete_group(request: Request, *, uuid: str) -> Answer:
    groups.delete_group(request.tx, request.workspace.id, uuid)
    return no_content()
