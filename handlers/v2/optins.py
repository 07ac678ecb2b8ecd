"""`/api/v2/optins.json`."""

from handlers.answers import Answer, ListAnswer, created_record
from handlers.request import Call
from persistence.optins import OPTINS
from persistence.optins import create_optin as store_optin

list_optins = ListAnswer(OPTINS)


def create_optin(call: Call) -> Answer:
    return created_record(call, OPTINS, store_optin(call.tx, call.workspace.id, call.body["name"]))
