"""A workspace with one of everything, and a flow that uses all of it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from flows.engine.assets import Classifier, Llm
from flows.engine.services import (
    AirtimeTransfer,
    Classification,
    LlmReply,
    Services,
    WebhookReply,
    WebhookRequest,
)

Json = dict[str, Any]


def make_uuid(kind: int, number: int = 0) -> str:
    return f"{kind:08d}-0000-4000-8000-{number:012d}"


FLOW, CHILD, CHANNEL, GROUP, SMART, LABEL, TOPIC, USER, LLM, OPTIN, CLASSIFIER, CONTACT = (
    make_uuid(90 + kind) for kind in range(12)
)


def refer(uuid: str, name: str = "Thing") -> Json:
    return {"uuid": uuid, "name": name}


ACTIONS_OF_BOTH: list[Json] = [
    {"type": "add_contact_groups", "groups": [refer(GROUP), {"name_match": "@results.answer"}]},
    {"type": "remove_contact_groups", "groups": [refer(GROUP)], "all_groups": False},
    {"type": "add_contact_urn", "scheme": "tel", "path": "@results.answer"},
    {"type": "set_contact_channel", "channel": refer(CHANNEL)},
    {"type": "set_contact_field", "field": {"key": "age", "name": "Age"}, "value": "@results.answer"},
    {"type": "set_contact_language", "language": "@results.answer"},
    {"type": "set_contact_name", "name": "@results.answer"},
    {"type": "set_contact_status", "status": "active"},
    {"type": "set_contact_timezone", "timezone": "@results.answer"},
    {
        "type": "send_msg",
        "text": "@results.answer",
        "attachments": ["image/jpeg:@results.answer"],
        "quick_replies": ["@results.answer"],
    },
    {
        "type": "send_broadcast",
        "text": "@results.answer",
        "groups": [refer(GROUP)],
        "contacts": [refer(CONTACT)],
        "contact_query": "name = @results.answer",
        "urns": ["tel:+12065551212"],
        "legacy_vars": ["@results.answer"],
    },
    {"type": "send_email", "addresses": ["@results.answer"], "subject": "@results.answer", "body": "@results.answer"},
    {"type": "start_session", "flow": refer(CHILD), "contacts": [refer(CONTACT)], "exclusions": {"in_a_flow": True}},
    {"type": "set_run_result", "name": "Other", "value": "@results.answer", "category": "Some"},
    {"type": "add_input_labels", "labels": [refer(LABEL), {"name_match": "@results.answer"}]},
    {
        "type": "call_webhook",
        "method": "POST",
        "url": "http://example.com/@(url_encode(results.answer))",
        "headers": {"X-Key": "@results.answer"},
        "body": "@(json(results))",
        "result_name": "Call",
    },
    {"type": "call_resthook", "resthook": "new-answer", "result_name": "Told"},
    {"type": "transfer_airtime", "amounts": {"USD": 5}},
    {"type": "enter_flow", "flow": refer(CHILD), "terminal": False},
]
ACTIONS_OF_13: list[Json] = [
    {"type": "open_ticket", "topic": refer(TOPIC), "body": "@results.answer", "result_name": "Ticket"},
    {"type": "call_classifier", "classifier": refer(CLASSIFIER), "input": "@results.answer", "result_name": "Intent"},
    {"type": "request_optin", "optin": refer(OPTIN)},
]
ACTIONS_OF_14: list[Json] = [
    {"type": "open_ticket", "topic": refer(TOPIC), "assignee": {"email_match": "@results.answer"}, "note": "@input"},
    {"type": "set_run_local", "local": "count", "value": "@results.answer", "operation": "increment"},
    {
        "type": "call_llm",
        "llm": refer(LLM),
        "instructions": "@results.answer",
        "input": "@input.text",
        "output_local": "said",
    },
]
TESTS: list[tuple[str, list[str]]] = [
    ("has_any_word", ["yes @contact.name"]),
    ("has_pattern", ["(\\w+) @results.answer"]),
    ("has_number_between", ["1", "@(fields.age)"]),
    ("has_date_gt", ["@(today())"]),
    ("has_district", ["@fields.town"]),
    ("has_group", [GROUP, "Thing"]),
]


def make_flow(generation: int) -> Json:
    """Asks, tests the answer in many ways, does everything there is with it, and asks again."""
    actions = ACTIONS_OF_BOTH + (ACTIONS_OF_13 if generation < 14 else ACTIONS_OF_14)
    ask = _make_node(0, [{"type": "send_msg", "text": "Hi @contact.first_name"}], _make_router(0, is_waiting=True))
    act = [_make_node(number + 1, [action], _make_router(number + 1)) for number, action in enumerate(actions)]
    count = len(actions) + 1
    last = [_make_node(count, [], _make_router(count, is_waiting=True)), _make_node(count + 1, [], _make_random(count))]
    localization = {"spa": {make_uuid(2, 0): {"text": ["Hola @contact"]}, make_uuid(3, 0): {"arguments": ["sí"]}}}
    return {**_make_head(FLOW, generation), "localization": localization, "nodes": [ask, *act, *last]}


def make_child(generation: int) -> Json:
    """Waits for one answer."""
    return {
        **_make_head(CHILD, generation),
        "localization": {},
        "nodes": [_make_node(200, [], _make_router(200, True))],
    }


def _make_head(uuid: str, generation: int) -> Json:
    version = "13.2.0" if generation < 14 else "14.4.2"
    head = {"uuid": uuid, "name": "Thing", "spec_version": version, "language": "eng", "type": "messaging"}
    return {**head, "revision": 1, "expire_after_minutes": 60}


def _make_node(number: int, actions: list[Json], router: Json) -> Json:
    uuids = [{**action, "uuid": make_uuid(2, number * 10 + place)} for place, action in enumerate(actions)]
    destination = None if number >= 200 or router["type"] == "random" else make_uuid(1, number + 1)
    exits = [{"uuid": make_uuid(5, number), "destination_uuid": destination}]
    return {"uuid": make_uuid(1, number), "actions": uuids, "router": router, "exits": exits}


def _make_router(number: int, is_waiting: bool = False) -> Json:
    category = {"uuid": make_uuid(4, number), "name": "All", "exit_uuid": make_uuid(5, number)}
    cases = [
        {
            "uuid": make_uuid(3, number * 10 + place),
            "type": kind,
            "arguments": arguments,
            "category_uuid": category["uuid"],
        }
        for place, (kind, arguments) in enumerate(TESTS)
    ]
    router: Json = {
        "type": "switch",
        "operand": "@input.text" if is_waiting else "@(default(results.answer, child.status))",
        "cases": cases,
        "categories": [category],
        "default_category_uuid": category["uuid"],
        "result_name": "Answer",
    }
    timeout = {"seconds": 60, "category_uuid": category["uuid"]}
    return {**router, "wait": {"type": "msg", "timeout": timeout}} if is_waiting else router


def _make_random(number: int) -> Json:
    category = {"uuid": make_uuid(4, number + 1), "name": "All", "exit_uuid": make_uuid(5, number + 1)}
    return {"type": "random", "categories": [category], "result_name": "Drawn"}


def make_assets(generation: int, flow: Json | None = None) -> Json:
    """What the flow uses."""
    channel = {**refer(CHANNEL), "address": "+12065550100", "schemes": ["tel"], "roles": ["send"], "country": "US"}
    ward = {"name": "Kimironko", "aliases": [], "children": []}
    district = {"name": "Gasabo", "aliases": [], "children": [ward]}
    state = {"name": "Kigali", "aliases": ["Kigari"], "children": [district]}
    return {
        "flows": [flow or make_flow(generation), make_child(generation)],
        "channels": [channel],
        "fields": [
            {"uuid": make_uuid(80), "key": "age", "name": "Age", "type": "number"},
            {"uuid": make_uuid(81), "key": "town", "name": "Town", "type": "state"},
        ],
        "globals": [{"key": "org", "name": "Org", "value": "Us"}],
        "groups": [refer(GROUP), {**refer(SMART, "Adults"), "query": "age > 18"}],
        "labels": [refer(LABEL)],
        "llms": [{**refer(LLM), "type": "test"}],
        "locations": [{"name": "Rwanda", "aliases": [], "children": [state]}],
        "optins": [refer(OPTIN)],
        "classifiers": [{**refer(CLASSIFIER), "type": "test", "intents": ["book"]}],
        "resthooks": [{"slug": "new-answer", "subscribers": ["http://example.com/hook"]}],
        "topics": [refer(TOPIC, "General")],
        "users": [{**refer(USER), "email": "ann@example.com"}],
    }


CONTACT_JSON: Json = {
    "uuid": CONTACT,
    "id": 7,
    "name": "Ann Lee",
    "language": "eng",
    "status": "active",
    "timezone": "Africa/Kigali",
    "created_on": "2024-01-01T00:00:00Z",
    "last_seen_on": "2024-02-01T00:00:00Z",
    "urns": [f"tel:+12065551212?channel={CHANNEL}", "mailto:ann@example.com"],
    "groups": [refer(GROUP)],
    "fields": {"age": {"text": "27", "number": 27}, "town": {"text": "Kigali", "state": "Rwanda > Kigali"}},
    "tickets": [],
}


class Answers:
    """Services that answer everything with what they are told."""

    def __init__(self, body: bytes, status: int, text: str) -> None:
        self.body, self.status, self.answer = body, status, text

    def call(self, request: WebhookRequest) -> WebhookReply:
        return WebhookReply(self.status, request.body, self.body.decode("utf-8", "replace"), self.body, {"X": "y"})

    def send(self, addresses: Any, subject: str, body: str) -> None:
        assert addresses
        assert subject
        assert body

    def respond(self, llm: Llm, instructions: str, text: str) -> LlmReply:
        return LlmReply(self.answer)

    def classify(self, classifier: Classifier, text: str) -> Classification:
        return Classification([(self.answer, Decimal("0.5"))], {"x": [(self.answer, Decimal(1))]})

    def transfer(self, sender: Any, recipient: Any, amounts: Any, transfer_uuid: str) -> AirtimeTransfer:
        currency, amount = next(iter(amounts.items()), ("USD", Decimal(0)))
        return AirtimeTransfer("1", currency, amount, amount)

    def as_services(self) -> Services:
        return Services(webhook=self, email=self, classifier=self, llm=self, airtime=self)
