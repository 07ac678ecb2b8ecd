"""`/api/v2/groups.json`."""

from handlers.answers import Answer, answer_page, created, no_content, ok
from handlers.request import Call
from persistence.groups import groups
from persistence.groups.groups import remove_group, rename_group
from persistence.sql.pages import Page, Position


def list_groups(call: Call, *, uuid: str | None = None, name: str | None = None) -> Answer:
    workspace = call.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return groups.list_groups(call.tx, workspace.id, position, size, uuid=uuid, name=name)

    return answer_page(call, groups.GROUPS_ORDER, fetch)


def write_group(call: Call, *, uuid: str | None = None) -> Answer:
    workspace = call.workspace
    name = call.body["name"]
    if uuid is None:
        group_id = groups.create_group(call.tx, workspace.id, name)
        return created(groups.read_group(call.tx, workspace.id, group_id))
    group_id = rename_group(call.tx, workspace.id, uuid, name)
    return ok(groups.read_group(call.tx, workspace.id, group_id))


def delete_group(call: Call, *, uuid: str) -> Answer:
    workspace = call.workspace
    remove_group(call.tx, workspace.id, uuid)
    return no_content()
