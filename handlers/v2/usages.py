"""`/api/v2/usages.json`."""

from handlers.answers import Answer, as_json
from handlers.request import Request
from persistence.usages import find_kind, list_usages


def find_usages(request: Request, *, record: str) -> Answer:
    kind, reference = find_kind(request.tx, request.workspace.id, record)
    found = list_usages(request.tx, request.workspace.id, kind, reference)
    return as_json(200, {"results": [each.shown for each in found]})
