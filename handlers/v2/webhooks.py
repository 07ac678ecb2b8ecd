"""`/api/v2/webhook_receivers.json`, `webhook_secrets.json` and `webhook_tests.json`."""

from handlers.answers import Answer, ListAnswer, as_json, no_content, ok
from handlers.request import Request
from persistence.deliveries import receivers
from persistence.tokens import check_area

list_webhook_receivers = ListAnswer(receivers.RECEIVERS)


def write_webhook_receiver(request: Request, *, receiver: str) -> Answer:
    check_area(request.areas, receivers.area_of(receiver))
    networks = request.settings.webhook_allowed_networks
    record = receivers.write_receiver(request.tx, request.workspace, receiver, request.body, networks)
    return no_content() if record is None else ok(record)


def send_webhook_test(request: Request, *, receiver: str) -> Answer:
    check_area(request.areas, receivers.area_of(receiver))
    return as_json(201, {"delivery": receivers.send_test(request.tx, request.workspace.id, receiver)})


def rotate_webhook_secret(request: Request, *, receiver: str) -> Answer:
    check_area(request.areas, receivers.area_of(receiver))
    return as_json(201, receivers.rotate_secret(request.tx, request.workspace.id, receiver))
