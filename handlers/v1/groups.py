"""`/api/v1/groups.json`."""

from handlers.answers import Answer, answer_numbered_page
from handlers.request import Call
from persistence.groups.v1 import list_group_summaries


def list_groups(
    call: Call, *, name: str | None = None, uuid: list[str] | None = None, page: str | None = None
) -> Answer:
    workspace = call.workspace
    return answer_numbered_page(
        call,
        page,
        lambda number, size: list_group_summaries(call.tx, workspace.id, number, size, uuids=uuid, name_part=name),
    )
