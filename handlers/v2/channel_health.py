"""`/api/v2/channel_health.json`, `channel_calls.json` and `channel_alarms.json`, additions to the interface
specification."""

from handlers.answers import Answer, ListAnswer, as_json
from handlers.request import Request
from persistence.channels.gateway_calls import GATEWAY_CALLS
from persistence.channels.health import ALARMS, read_health

list_channel_calls = ListAnswer(GATEWAY_CALLS)
list_channel_alarms = ListAnswer(ALARMS)


def read_channel_health(request: Request, *, uuid: str) -> Answer:
    return as_json(200, read_health(request.tx, request.workspace.id, uuid))
