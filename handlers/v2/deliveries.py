"""`/api/v2/deliveries.json`, `delivery.json`, `delivery_actions.json` and `delivery_ledger.json`."""

from datetime import datetime

from handlers.answers import Answer, ListAnswer, as_json
from handlers.contract.schemas import read_time
from handlers.request import Request
from persistence.deliveries import records
from persistence.deliveries.outbox import count_deliveries
from persistence.deliveries.receivers import find_receiver, is_receiver
from persistence.deliveries.records import read_delivery as read_with_attempts
from persistence.errors import InvalidInput
from persistence.lists import ListQuery

list_deliveries = ListAnswer(records.LISTED_DELIVERIES)


def read_delivery(request: Request, *, uuid: str) -> Answer:
    return as_json(200, read_with_attempts(request.tx, request.workspace, uuid, request.areas))


def act_on_deliveries(request: Request) -> Answer:
    body, workspace_id = request.body, request.workspace.id
    if body["action"] == "resend":
        if not body.get("deliveries"):
            raise InvalidInput.on("deliveries", "The action needs deliveries.")
        resent = records.send_all_again(request.tx, workspace_id, body["deliveries"], request.areas)
    else:
        if not body.get("since"):
            raise InvalidInput.on("since", "The action needs a time.")
        since = read_time("since", body["since"])
        receiver = body.get("receiver")
        if receiver is not None and not is_receiver(request.tx, workspace_id, receiver):
            raise InvalidInput.on("receiver", f'Nothing found for "{receiver}".')
        resent = records.send_failed_again(request.tx, workspace_id, since, receiver, request.areas)
    return as_json(200, {"resent": resent})


def read_delivery_ledger(
    request: Request,
    *,
    receiver: str | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
) -> Answer:
    if receiver is not None:
        find_receiver(request.tx, request.workspace.id, receiver)
    given = {"receiver": receiver, "before": before, "after": after}
    values = {name: value for name, value in given.items() if value is not None}
    query = ListQuery(request.tx, request.workspace, values, areas=request.areas)
    conditions = [*records.in_areas(request.areas), *records.LISTED_DELIVERIES.asked(query)]
    ledger = count_deliveries(request.tx, request.workspace.id, conditions)
    counts = {"delivered": ledger.delivered, "failed": ledger.failed, "pending": ledger.pending}
    return as_json(200, {"made": ledger.total} | counts)
