"""Old rule sets as nodes of version 13.0."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flows.definition import DefinitionError, migrate
from flows.definition.legacy.webhooks import RUN_PAYLOAD
from flows.environment import Environment
from flows.expressions.templates import evaluate_text
from flows.expressions.values import XObject, to_value
from tests.flows.corpora.case_values import standing_clock
from tests.flows.definition.specimens import CALL, GROUP, Json, make_legacy_flow, make_rule, make_rule_set

OTHER = {"uuid": GROUP, "name": "Other"}
RULES = (make_rule(21, {"type": "not_empty"}, {"eng": "Yes"}), make_rule(22, {"type": "true"}, {"eng": "Other"}))


def migrate_rule_set(*rules: Json, **more: Any) -> tuple[Json, Json]:
    """The new node and how editors show it."""
    migrated = migrate(make_legacy_flow([], [make_rule_set(*(rules or RULES), **more)]), to="13.0.0")
    return migrated["nodes"][0], migrated["_ui"]["nodes"][CALL]


@pytest.mark.parametrize(
    ("kind", "hint", "operand"),
    [
        ("wait_message", None, "@input"),
        (None, None, "@input"),
        ("wait_audio", {"type": "audio"}, "@input"),
        ("wait_photo", {"type": "image"}, "@input"),
        ("wait_gps", {"type": "location"}, "@input"),
        ("wait_digit", {"type": "digits", "count": 1}, "@input.text"),
        ("wait_digits", {"type": "digits", "terminated_by": "#"}, "@input.text"),
    ],
)
def test_rule_sets_that_wait_say_what_for(kind: str | None, hint: Json | None, operand: str) -> None:
    node, layout = migrate_rule_set(ruleset_type=kind, finished_key="#")

    router = node["router"]
    assert (router["type"], router["operand"], router["result_name"]) == ("switch", operand, "Answer")
    assert router["wait"] == {"type": "msg", **({"hint": hint} if hint else {})}
    assert layout == {"type": "wait_for_response", "position": {"left": 10, "top": 200}}


@pytest.mark.parametrize(
    ("kind", "given", "operand", "layout"),
    [
        ("contact_field", "@contact.age", "@fields.age", {"operand": {"type": "field", "id": "age"}}),
        (
            "contact_field",
            "@contact.mailto",
            '@(default(urn_parts(urns.mailto).path, ""))',
            {"operand": {"type": "scheme", "id": "mailto"}},
        ),
        (
            "contact_field",
            "@contact.name",
            "@contact.name",
            {"operand": {"type": "property", "id": "name", "name": "Name"}},
        ),
        ("flow_field", "@flow.color", "@results.color", {"operand": {"id": "color"}}),
        ("group", "@step.value", "@contact.groups", {}),
        ("expression", "@flow.x", '@(if(is_error(results.x), "@flow.x", results.x))', {}),
        ("expression", "", "@input", {}),
    ],
)
def test_rule_sets_that_do_not_wait_have_an_operand(kind: str, given: str, operand: str, layout: Json) -> None:
    node, shown = migrate_rule_set(ruleset_type=kind, operand=given)

    assert node["router"]["operand"] == operand
    assert "wait" not in node["router"]
    assert shown.get("config", {}) == layout


def test_parts_of_a_message_are_cut_out_by_a_delimiter() -> None:
    config = {"field_delimiter": "+", "field_index": 1}

    node, layout = migrate_rule_set(ruleset_type="form_field", operand="@flow.form", config=config)

    assert node["router"]["operand"] == '@(field(results.form, 1, "+"))'
    assert layout["config"] == {"operand": {"id": "form"}, "delimiter": "+", "index": 1}


def test_a_subflow_is_entered_and_its_status_looked_at() -> None:
    node, layout = migrate_rule_set(ruleset_type="subflow", config={"flow": OTHER})

    (action,) = node["actions"]
    assert (action["type"], action["flow"], "terminal" in action) == ("enter_flow", OTHER, False)
    assert node["router"]["operand"] == "@child.status"
    assert layout["type"] == "split_by_subflow"


def test_a_webhook_is_called_and_its_result_looked_at() -> None:
    headers = [{"name": "X-Key", "value": "@flow.key"}, {"name": "", "value": "x"}]
    config = {"webhook": "http://a.b/?q=@contact", "webhook_action": "get", "webhook_headers": headers}
    rules = [
        make_rule(21, {"type": "webhook_status", "status": "success"}, {"eng": "Success"}),
        make_rule(22, {"type": "webhook_status", "status": "failure"}, {"eng": "Failure"}),
    ]

    node, _ = migrate_rule_set(*rules, ruleset_type="webhook", label="My Call", config=config)

    (action,) = node["actions"]
    del action["uuid"]
    assert action == {
        "type": "call_webhook",
        "method": "GET",
        "url": "http://a.b/?q=@(url_encode(contact))",
        "headers": {"X-Key": "@results.key"},
        "result_name": "My Call",
    }
    router = node["router"]
    assert router["operand"] == "@results.my_call.category"
    assert [case["arguments"] for case in router["cases"]] == [["Success"], ["Failure"]]
    assert router["default_category_uuid"] == router["categories"][1]["uuid"]
    assert "result_name" not in router


def test_a_webhook_that_posts_sends_the_event_of_the_flow() -> None:
    node, _ = migrate_rule_set(ruleset_type="webhook", config={"webhook": "http://a.b"})

    (action,) = node["actions"]
    assert (action["method"], action["headers"]) == ("POST", {"Content-Type": "application/json"})
    assert action["body"] == RUN_PAYLOAD


@pytest.mark.parametrize("received", [None, {"uuid": "i", "text": "Hi", "urn": "tel:+12065551212", "attachments": []}])
def test_the_event_is_json_with_and_without_a_message(received: Json | None) -> None:
    blank = dict.fromkeys(("type", "created_on", "channel"))
    context = {
        "contact": {"uuid": "c", "name": "Bob", "urn": "tel:+12065551212"},
        "run": {"uuid": "r", "created_on": "now", "path": [], "flow": {"uuid": "f"}},
        "results": {"a": {**dict.fromkeys(("name", "category", "category_localized", "input"), "x"), "value": "1"}},
        "input": None if received is None else {**blank, **received},
    }
    values = XObject({name: to_value(value) for name, value in context.items()})

    result = evaluate_text(RUN_PAYLOAD, values, Environment(), standing_clock("2020-02-03T04:05:06Z"))

    event = json.loads(result.text)
    assert result.errors == []
    assert sorted(event) == ["channel", "contact", "flow", "input", "path", "results", "run"]
    assert event["results"]["a"]["value"] == "1"
    assert (event["input"] or {}).get("text") == (received or {}).get("text")


def test_a_resthook_and_airtime_save_a_result() -> None:
    amounts = {"RW": {"currency_code": "RWF", "amount": "500"}, "US": {"currency_code": "USD", "amount": 1}}
    rules = [
        make_rule(21, {"type": "airtime_status", "exit_status": "success"}, {"eng": "Success"}),
        make_rule(22, {"type": "airtime_status", "exit_status": "failed"}, {"eng": "Failure"}),
    ]

    called, _ = migrate_rule_set(ruleset_type="resthook", label="Hook", config={"resthook": "new-signup"})
    sent, _ = migrate_rule_set(*rules, ruleset_type="airtime", label="Gift", config=amounts)

    assert called["actions"][0]["resthook"] == "new-signup"
    assert called["router"]["operand"] == "@results.hook.category"
    assert sent["actions"][0]["amounts"] == {"RWF": 500, "USD": 1}
    assert sent["router"]["operand"] == "@results.gift"
    assert [case["type"] for case in sent["router"]["cases"]] == ["has_category"]
    assert sent["router"]["default_category_uuid"] == sent["router"]["categories"][1]["uuid"]


def test_a_random_split_has_no_cases() -> None:
    rules = [make_rule(n, {"type": "between", "min": "0", "max": "1"}, {"eng": f"Bucket {n}"}) for n in (21, 22)]

    node, layout = migrate_rule_set(*rules, ruleset_type="random", operand="@(RAND())")

    assert sorted(node["router"]) == ["categories", "result_name", "type"]
    assert layout["type"] == "split_by_random"


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"ruleset_type": "smoke"}, "ruleset_type"),
        ({"ruleset_type": "airtime", "config": {"RW": {"currency_code": "RWF", "amount": []}}}, "config"),
        (
            {
                "ruleset_type": "airtime",
                "config": {place: {"currency_code": "USD", "amount": n} for n, place in enumerate("ab")},
            },
            "config",
        ),
    ],
)
def test_what_has_no_counterpart_is_refused_with_its_place(more: Json, field: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        migrate_rule_set(**more)

    assert (caught.value.node, caught.value.field) == (CALL, field)
