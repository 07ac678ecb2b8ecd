"""`/api/v2/optins.json`."""

from handlers.answers import Answer, answer_page, created
from handlers.request import Call
from persistence import optins
from persistence.sql.pages import Page, Position


def list_optins(call: Call) -> Answer:
    workspace = call.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return optins.list_optins(call.tx, workspace.id, position, size)

    return answer_page(call, optins.OPTINS_ORDER, fetch)


def create_optin(call: Call) -> Answer:
    workspace = call.workspace
    optin_id = optins.create_optin(call.tx, workspace.id, call.body["name"])
    return created(optins.read_optin(call.tx, workspace.id, optin_id))
