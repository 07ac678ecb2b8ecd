"""Old rules and their tests in version 13.0."""

from __future__ import annotations

from typing import Any

import pytest

from flows.definition import DefinitionError, migrate
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
