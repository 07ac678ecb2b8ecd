"""`/api/v2/usages.json`."""

from handlers.answers import Answer, as_json
from handlers.request import Request
from persistence.usages import list_usages


def find_usages(request: Request, *, type: str, record: str) -> Answer:
    found = list_usages(request.tx, request.workspace.id, type, record)
    return as_json(200, {"results": [each.shown for each in found]})
