"""`/api/v2/webhook_receivers.json`, `webhook_subscriptions.json`, `webhook_event_types.json`, `webhook_secrets.json`
and `webhook_tests.json`.
"""

from functools import cache

from handlers.answers import Answer, ListAnswer, as_json, no_content, ok
from handlers.request import Request
from openapi.bundle import bundle
from persistence.deliveries import receivers
from persistence.deliveries.subscriptions import create_subscription, delete_subscription
from persistence.records import Shown
from persistence.sql.columns import time_text
from persistence.stamps import EVENT_AREAS

list_webhook_receivers = ListAnswer(receivers.RECEIVERS)


def write_webhook_receiver(request: Request, *, receiver: str) -> Answer:
    receivers.check_receiver(request.tx, request.workspace.id, request.areas, receiver)
    networks = request.settings.webhook_allowed_networks
    record = receivers.write_receiver(request.tx, request.workspace, receiver, request.body, networks, request.areas)
    return no_content() if record is None else ok(record)


def create_webhook_subscription(request: Request) -> Answer:
    tx, body, networks = request.tx, request.body, request.settings.webhook_allowed_networks
    number, secret = create_subscription(tx, request.workspace, body["url"], body["events"], networks, request.areas)
    shown = {"id": number, "receiver": str(number), "url": body["url"].strip(), "events": body["events"]}
    return as_json(201, shown | {"secret": secret, "created_on": time_text(tx.now)})


def delete_webhook_subscription(request: Request, *, id: int) -> Answer:
    delete_subscription(request.tx, request.workspace.id, id)
    return no_content()


def read_webhook_event_types(_request: Request) -> Answer:
    return as_json(200, {"types": _describe_types()})


@cache
def _describe_types() -> list[Shown]:
    """The types of events, with what the contract says of each and its example."""
    operation = bundle("v2")["paths"]["/webhook_subscriptions.json"]["post"]
    requests = [request for callback in operation["callbacks"].values() for request in callback.values()]
    bodies = [request["post"]["requestBody"]["content"]["application/json"] for request in requests]
    examples = {name: example for body in bodies for name, example in body["examples"].items()}
    return [
        {"type": name, "area": area, "description": examples[name]["summary"], "body": examples[name]["value"]}
        for name, area in EVENT_AREAS.items()
    ]


def send_webhook_test(request: Request, *, receiver: str) -> Answer:
    receivers.check_receiver(request.tx, request.workspace.id, request.areas, receiver)
    return as_json(201, {"delivery": receivers.send_test(request.tx, request.workspace.id, receiver)})


def rotate_webhook_secret(request: Request, *, receiver: str) -> Answer:
    receivers.check_receiver(request.tx, request.workspace.id, request.areas, receiver)
    return as_json(201, receivers.rotate_secret(request.tx, request.workspace.id, receiver))
