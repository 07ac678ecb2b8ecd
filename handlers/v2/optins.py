"""`/api/v2/optins.json`."""

from handlers.answers import Answer, ListAnswer, created_record
from handlers.request import Request
from persistence.optins import OPTINS
from persistence.optins import create_optin as store_optin

list_optins = ListAnswer(OPTINS)


def create_optin(request: Request) -> Answer:
    return created_record(request, OPTINS, store_optin(request.tx, request.workspace.id, request.body["name"]))
