"""`/api/v2/optins.json`."""

from handlers.answers import Answer, ListAnswer, changed_record, created_record, no_content
from handlers.request import Request
from persistence import optins
from persistence.optins import OPTINS

list_optins = ListAnswer(OPTINS)


def create_optin(request: Request, *, uuid: str | None = None) -> Answer:
    tx, workspace_id, name = request.tx, request.workspace.id, request.body["name"]
    if uuid is None:
        return created_record(request, OPTINS, optins.create_optin(tx, workspace_id, name))
    return changed_record(request, OPTINS, optins.rename_optin(tx, workspace_id, uuid, name))


def delete_optin(request: Request, *, uuid: str) -> Answer:
    optins.delete_optin(request.tx, request.workspace.id, uuid)
    return no_content()
