"""`/api/v2/users.json`."""

from handlers.answers import Answer, answer_page
from handlers.request import Call
from persistence import users
from persistence.sql.pages import Page, Position


def list_users(
    call: Call,
    *,
    uuid: list[str] | None = None,
    email: list[str] | None = None,
    role: list[str] | None = None,
) -> Answer:
    workspace = call.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return users.list_users(call.tx, workspace.id, position, size, uuids=uuid, emails=email, roles=role)

    return answer_page(call, users.users_order(), fetch)
