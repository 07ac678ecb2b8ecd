"""`/api/v1/relayers.json`."""

from typing import Any

from flows.typed import clean
from handlers.answers import Answer, NumberedListAnswer, created_record, released
from handlers.request import Request
from persistence.lists import ListQuery
from persistence.relayers import relayers as relayers
from persistence.relayers.relayers import claim_phone

list_relayers = NumberedListAnswer(relayers.RELAYERS)


def claim_relayer(request: Request) -> Answer:
    workspace = request.workspace
    body = request.body
    name = clean(body.get("name") or "") or None
    is_second = body.get("second_phone", False)
    claim = claim_phone(request.tx, workspace, body["claim_code"], body["phone"], name, is_second=is_second)
    return created_record(request, relayers.RELAYERS, claim.channel_id, **claim.told)


def release_relayers(request: Request, **values: Any) -> Answer:
    return released(relayers.release_relayers(ListQuery(request.tx, request.workspace, values)))
