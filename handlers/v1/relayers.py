"""`/api/v1/relayers.json`."""

from typing import Any

from flows.typed import clean
from handlers.answers import Answer, NumberedListAnswer, created_record, no_content
from handlers.request import Request
from persistence.lists import ListQuery
from persistence.relayers import relayers as relayers
from persistence.relayers.relayers import claim_phone

list_relayers = NumberedListAnswer(relayers.RELAYERS)


def claim_relayer(request: Request) -> Answer:
    workspace = request.workspace
    body = request.body
    name = clean(body.get("name") or "") or None
    channel_id = claim_phone(request.tx, workspace, body["claim_code"], body["phone"], name)
    return created_record(request, relayers.RELAYERS, channel_id)


def release_relayers(request: Request, **values: Any) -> Answer:
    relayers.release_relayers(ListQuery(request.tx, request.workspace, values))
    return no_content()
