"""`/api/v2/channel_health.json`, `channel_calls.json`, `channel_alarms.json` and `channel_tests.json`, additions to the
interface specification."""

from handlers.answers import Answer, ListAnswer, as_json, created_record
from handlers.request import Request
from persistence.channels.health import ALARMS, GATEWAY_CALLS, read_health
from persistence.contacts.owners import read_recipient
from persistence.messages.outgoing import send_test
from persistence.messages.v2 import MESSAGES

list_channel_calls = ListAnswer(GATEWAY_CALLS)
list_channel_alarms = ListAnswer(ALARMS)


def read_channel_health(request: Request, *, uuid: str) -> Answer:
    return as_json(200, read_health(request.tx, request.workspace.id, uuid))


def send_channel_test(request: Request, *, uuid: str) -> Answer:
    tx, workspace, body = request.tx, request.workspace, request.body
    urn = read_recipient(tx, workspace, body["urn"])
    return created_record(request, MESSAGES, send_test(tx, workspace.id, uuid, urn, body["text"]))
