"""Old rule sets as nodes of version 13.0.

Old rules and their tests in version 13.0.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from flows.definition import DefinitionError, migrate
from flows.definition.legacy.actions import RUN_PAYLOAD
from flows.environment import Environment
from flows.expressions.evaluator import evaluate_text
from flows.expressions.values import XObject, to_value
from tests.flows.corpora.case_values import standing_clock
from tests.flows.definition.specimens import (
    ASK,
    CALL,
    FLOW,
    GROUP,
    Json,
    make_action_set,
    make_legacy_flow,
    make_rule,
    make_rule_set,
    make_uuid,
)

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


def migrate_rules(*rules: Json) -> Json:
    flow = make_legacy_flow([make_action_set()], [make_rule_set(*rules)], entry=CALL)
    return migrate(flow, to="13.0.0")


def migrate_test(test: Json) -> Any:
    """The case of a rule with this test."""
    (case,) = migrate_rules(make_rule(21, test, {"eng": "Yes"}))["nodes"][0]["router"]["cases"]
    return case


@pytest.mark.parametrize(
    ("test", "kind", "arguments"),
    [
        ({"type": "number"}, "has_number", None),
        ({"type": "phone"}, "has_phone", None),
        ({"type": "state"}, "has_state", None),
        ({"type": "gt", "test": 10}, "has_number_gt", ["10"]),
        ({"type": "lte", "test": "@contact.age"}, "has_number_lte", ["@fields.age"]),
        ({"type": "eq", "test": {"eng": "5", "spa": "5"}}, "has_number_eq", ["5"]),
        ({"type": "between", "min": "1", "max": "@flow.x"}, "has_number_between", ["1", "@results.x"]),
        ({"type": "contains", "test": {"eng": "a @step"}}, "has_all_words", ["a @input"]),
        ({"type": "contains_phrase", "test": "a b"}, "has_phrase", ["a b"]),
        ({"type": "starts", "test": {"base": "a"}}, "has_beginning", ["a"]),
        ({"type": "regex", "test": {"eng": "@step"}}, "has_pattern", ["@step"]),
        ({"type": "date_equal", "test": "@date.today"}, "has_date_eq", ["@(today())"]),
        ({"type": "date_before", "test": "@(date.today - 3)"}, "has_date_lt", ['@(datetime_add(today(), -3, "D"))']),
        ({"type": "in_group", "test": {"uuid": GROUP, "name": "A"}}, "has_group", [GROUP, "A"]),
        ({"type": "subflow", "exit_type": "expired"}, "has_only_text", ["expired"]),
        ({"type": "district", "test": "@contact.state"}, "has_district", ["@fields.state"]),
        ({"type": "ward", "state": "@flow.s", "district": "D"}, "has_ward", ["@results.s", "D"]),
    ],
)
def test_tests_become_cases(test: Json, kind: str, arguments: list[str] | None) -> None:
    case = migrate_test(test)

    assert (case["type"], case.get("arguments")) == (kind, arguments)


@pytest.mark.parametrize(("operand", "days"), [("@(date.today + 12)", "12"), ("@(date.today - 3)", "-3"), ("x", "0")])
def test_editors_show_the_days_from_today(operand: str, days: str) -> None:
    migrated = migrate_rules(make_rule(21, {"type": "date_after", "test": operand}, {"eng": "Yes"}))

    (case,) = migrated["nodes"][0]["router"]["cases"]
    assert migrated["_ui"]["nodes"][CALL]["config"] == {"cases": {case["uuid"]: {"arguments": [days]}}}


def test_rules_of_one_name_share_a_category_and_each_has_a_case() -> None:
    migrated = migrate_rules(
        make_rule(21, {"type": "contains_any", "test": {"eng": "yes", "spa": "si"}}, {"eng": "Yes", "spa": "Sí"}, ASK),
        make_rule(22, {"type": "contains_any", "test": {"eng": "ok"}}, {"eng": "Yes"}),
        make_rule(23, {"type": "true"}, {"eng": "Other"}, make_uuid(404)),
    )

    node = migrated["nodes"][0]
    yes, other = node["router"]["categories"]
    first, second = node["router"]["cases"]
    assert node["exits"] == [{"uuid": make_uuid(21), "destination_uuid": ASK}, {"uuid": make_uuid(23)}]
    assert (yes["name"], yes["exit_uuid"], other["exit_uuid"]) == ("Yes", make_uuid(21), make_uuid(23))
    assert first["category_uuid"] == second["category_uuid"] == yes["uuid"]
    assert node["router"]["default_category_uuid"] == other["uuid"]
    assert migrated["localization"] == {"spa": {first["uuid"]: {"arguments": ["si"]}, yes["uuid"]: {"name": ["Sí"]}}}


def test_a_rule_for_all_the_rest_keeps_a_category_of_its_own() -> None:
    migrated = migrate_rules(
        make_rule(21, {"type": "number"}, {"eng": "Other"}), make_rule(22, {"type": "true"}, {"eng": "Other"})
    )

    router = migrated["nodes"][0]["router"]
    assert [category["name"] for category in router["categories"]] == ["Other", "Other"]
    assert router["default_category_uuid"] == router["categories"][1]["uuid"]


def test_a_timeout_belongs_to_the_wait() -> None:
    rules = (make_rule(21, {"type": "true"}, {"eng": "All"}), make_rule(22, {"type": "timeout", "minutes": 5}, "Late"))

    router = migrate_rules(*rules)["nodes"][0]["router"]

    late = router["categories"][1]
    assert router["wait"] == {"type": "msg", "timeout": {"seconds": 300, "category_uuid": late["uuid"]}}
    assert router["cases"] == []


def test_rules_that_share_a_uuid_get_exits_of_their_own() -> None:
    rules = [make_rule(21, {"type": "number"}, {"eng": name}) for name in ("A", "B")]

    exits = migrate_rules(*rules)["nodes"][0]["exits"]

    assert exits[0]["uuid"] == make_uuid(21) != exits[1]["uuid"]


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        (None, "rules"),
        ({"uuid": make_uuid(21)}, "rules.test"),
        (make_rule(21, {"type": "smoke"}, {"eng": "A"}), "rules.test.type"),
    ],
)
def test_what_is_no_rule_is_refused_with_its_place(rule: Any, field: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        migrate_rules(rule)

    assert (caught.value.flow, caught.value.node, caught.value.field) == (FLOW, CALL, field)
