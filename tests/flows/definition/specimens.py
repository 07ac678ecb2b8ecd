"""Definitions for tests: one of version 13.0 and one of before version 13, each with many kinds of parts."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
FLOW = "10000000-0000-4000-8000-000000000000"
GROUP = "20000000-0000-4000-8000-000000000000"


def make_uuid(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


ASK, CALL, TICKET = (make_uuid(number) for number in (1, 2, 3))
SEND, WEBHOOK, OPEN = (make_uuid(number) for number in (11, 12, 13))
OUT, SUCCEEDED, FAILED = (make_uuid(number) for number in (21, 22, 23))
YES, SUCCESS, FAILURE = (make_uuid(number) for number in (31, 32, 33))
CASE, CALL_CASE, LAST_CASE = (make_uuid(number) for number in (41, 42, 43))


def make_flow(*nodes: Json, version: str = "13.0.0", **more: Any) -> Json:
    """A definition of version 13 or later."""
    return {
        "uuid": FLOW,
        "name": "Registration",
        "spec_version": version,
        "language": "eng",
        "type": "messaging",
        "revision": 3,
        "expire_after_minutes": 60,
        "localization": {},
        "nodes": list(nodes),
        **more,
    }


def make_node(*actions: Json, router: Json | None = None, uuid: str = ASK, out: str = OUT) -> Json:
    """A node with one way out, to nowhere."""
    node: Json = {"uuid": uuid, "actions": list(actions), "exits": [{"uuid": out, "destination_uuid": None}]}
    return node if router is None else {**node, "router": router}


def make_router(operand: str, *cases: Json, **more: Any) -> Json:
    """A router with the category YES, leaving by OUT."""
    categories = [{"uuid": YES, "name": "Yes", "exit_uuid": OUT}]
    router = {"type": "switch", "operand": operand, "cases": list(cases), "categories": categories}
    return {**router, "default_category_uuid": YES, **more}


def make_case(kind: str, *arguments: str, uuid: str = CASE) -> Json:
    return {"uuid": uuid, "type": kind, "arguments": list(arguments), "category_uuid": YES}


def make_split(action: Json, operand: str, *cases: Json) -> Json:
    """A node with an action that chooses between two categories."""
    categories = [
        {"uuid": SUCCESS, "name": "Success", "exit_uuid": SUCCEEDED},
        {"uuid": FAILURE, "name": "Failure", "exit_uuid": FAILED},
    ]
    router = {"type": "switch", "operand": operand, "cases": list(cases), "categories": categories}
    exits = [{"uuid": SUCCEEDED}, {"uuid": FAILED}]
    router["default_category_uuid"] = FAILURE
    return {"uuid": CALL, "actions": [action], "router": router, "exits": exits}


TEMPLATING = {
    "template": {"uuid": GROUP, "name": "welcome"},
    "variables": ["@contact.name", "@webhook.town"],
}
EARLY_FLOW = make_flow(
    make_node(
        {
            "type": "send_msg",
            "uuid": SEND,
            "text": "Hi @webhook.name",
            "quick_replies": ["Yes", "No"],
            "all_urns": True,
            "templating": TEMPLATING,
        },
        {"type": "set_run_result", "uuid": make_uuid(14), "name": "Age", "value": "@webhook.age", "category": "Known"},
        router=make_router(
            "@input.text",
            make_case("has_any_word", "yes", "@webhook.yes"),
            wait={"type": "msg", "timeout": {"seconds": 60, "category_uuid": YES}, "hint": {"type": "image"}},
            result_name="Answer",
        ),
    ),
    make_split(
        {
            "type": "call_webhook",
            "uuid": WEBHOOK,
            "method": "POST",
            "url": "http://example.com/@webhook.path",
            "headers": {"X-Key": "@webhook.key"},
            "body": "@(json(webhook))",
            "result_name": "Call",
        },
        "@results.call.category",
        {"uuid": CALL_CASE, "type": "has_only_text", "arguments": ["Success"], "category_uuid": SUCCESS},
        {"uuid": LAST_CASE, "type": "has_only_text", "arguments": ["Failure"], "category_uuid": FAILURE},
    ),
    localization={
        "spa": {
            SEND: {"text": ["Hola @webhook.name"], "quick_replies": ["Sí", "No"]},
            CASE: {"arguments": ["sí", "claro"]},
            CALL_CASE: {"arguments": ["éxito"]},
        }
    },
    _ui={"nodes": {}, "stickies": {}},
)


def make_rule(number: int, test: Json, category: Any, destination: str | None = None) -> Json:
    return {
        "uuid": make_uuid(number),
        "test": test,
        "category": category,
        "destination": destination,
        "destination_type": "A",
        "label": None,
    }


def make_rule_set(*rules: Json, uuid: str = CALL, **more: Any) -> Json:
    """A rule set of an old definition, that waits for a message unless told."""
    rule_set = {"uuid": uuid, "x": 10, "y": 200, "label": "Answer", "rules": list(rules), "config": {}}
    return {**rule_set, "ruleset_type": "wait_message", "operand": "@step.value", "finished_key": None, **more}


def make_action_set(*actions: Json, uuid: str = ASK, destination: str | None = None, y: int = 0) -> Json:
    action_set = {"uuid": uuid, "x": 10, "y": y, "actions": list(actions), "destination": destination}
    return {**action_set, "exit_uuid": make_uuid(0xE0 + int(uuid[:8], 16))}


def make_legacy_flow(action_sets: list[Json], rule_sets: list[Json], **more: Any) -> Json:
    """A definition of version 11.12."""
    return {
        "version": "11.12",
        "metadata": {"uuid": FLOW, "name": "Registration", "revision": 7, "expires": 720, "notes": []},
        "base_language": "eng",
        "flow_type": "M",
        "entry": ASK,
        "action_sets": action_sets,
        "rule_sets": rule_sets,
        **more,
    }


LEGACY_FLOW = make_legacy_flow(
    [
        make_action_set(
            {
                "type": "reply",
                "uuid": SEND,
                "msg": {"eng": "Hi @contact.first_name", "spa": "Hola @contact"},
                "media": {"eng": "image/jpeg:photo.jpg"},
                "quick_replies": [{"eng": "Yes", "spa": "Sí"}, {"eng": "No"}],
                "send_all": True,
            },
            {"type": "save", "uuid": make_uuid(14), "field": "age", "label": "Age", "value": "@(flow.age + 1)"},
            {"type": "add_group", "uuid": make_uuid(15), "groups": [{"uuid": GROUP, "name": "A"}, "@contact.town"]},
            {"type": "email", "uuid": make_uuid(16), "emails": ["a@b.cd"], "subject": "@flow", "msg": "@extra.x"},
            {"type": "send", "uuid": make_uuid(17), "msg": {"eng": "x"}, "contacts": [], "groups": [], "variables": []},
            {"type": "trigger-flow", "uuid": make_uuid(18), "flow": {"uuid": GROUP, "name": "Other"}, "variables": []},
            destination=CALL,
        )
    ],
    [
        make_rule_set(
            make_rule(21, {"type": "contains_any", "test": {"eng": "yes", "spa": "si"}}, {"eng": "Yes"}, ASK),
            make_rule(22, {"type": "between", "min": "1", "max": "@contact.age"}, {"eng": "Some"}),
            make_rule(23, {"type": "date_after", "test": "@(date.today + 3)"}, {"eng": "Later"}),
            make_rule(24, {"type": "timeout", "minutes": 5}, {"eng": "Late"}),
            make_rule(25, {"type": "true"}, {"eng": "Other"}, TICKET),
        ),
        make_rule_set(
            make_rule(26, {"type": "webhook_status", "status": "success"}, {"eng": "Success"}),
            make_rule(27, {"type": "webhook_status", "status": "failure"}, {"eng": "Failure"}),
            uuid=TICKET,
            ruleset_type="webhook",
            label="Call",
            config={"webhook": "http://example.com/@contact.id", "webhook_action": "GET", "webhook_headers": []},
        ),
    ],
)
