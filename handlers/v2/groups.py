"""`/api/v2/groups.json`."""

from handlers.answers import Answer, ListAnswer, changed_record, created_record, inserted_record, no_content
from handlers.request import Request
from persistence.groups import groups, smart_groups
from persistence.groups.groups import GROUPS

list_groups = ListAnswer(GROUPS)


def write_group(request: Request, *, uuid: str | None = None) -> Answer:
    tx, workspace, name, query = request.tx, request.workspace, request.body["name"], request.body.get("query")
    if uuid is None and query is not None:
        return created_record(request, GROUPS, smart_groups.create_query_group(tx, workspace, name, query))
    if uuid is None:
        return inserted_record(request, GROUPS, groups.new_group(tx, workspace.id, name))
    if "query" in request.body:
        smart_groups.change_query(tx, workspace, uuid, query)
    return changed_record(request, GROUPS, groups.rename_group(tx, workspace.id, uuid, name))


def delete_group(request: Request, *, uuid: str) -> Answer:
    groups.delete_group(request.tx, request.workspace.id, uuid)
    return no_content()
