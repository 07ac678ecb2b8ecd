"""Checks the cases about migrations: the steps since version 13.0, older definitions, and their expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flows.definition import migrate
from flows.definition.legacy.templates import TemplateOptions, migrate_template
from flows.environment import Environment
from flows.expressions.evaluator import evaluate_text
from flows.expressions.values import XObject, to_value
from tests.flows.corpora.case_values import standing_clock
from tests.flows.corpora.legacy_contexts import check_meaning
from tests.flows.corpora.placeholders import Placeholders

Case = dict[str, Any]
FLOW, NODE, EXIT, RULE = (f"{digit}1111111-1111-4111-8111-111111111111" for digit in "1234")
MEDIA_URL = "https://myfiles.com"
NOW = "2018-10-18T14:20:30.000123Z"


def check_migration(case: Case, fixtures: Case) -> None:
    """Migrates a definition to a version."""
    Placeholders().compare(case["migrated"], migrate(case["original"], to=case["to"]))


def check_legacy_definition(case: Case, fixtures: Case) -> None:
    """Migrates an old flow, or a part of one put into the smallest flow that can hold it."""
    _KINDS[case["kind"]](case)


def _check_flow(case: Case) -> None:
    expected = case["expected"]["expected"]
    Placeholders().compare(expected, migrate(case["legacy"], to="13.0.0", media_url=MEDIA_URL))


def _check_action(case: Case) -> None:
    action_set = {"uuid": NODE, "x": 0, "y": 0, "exit_uuid": EXIT, "actions": [case["legacy"]]}
    flow = _migrate_parts(case.get("legacy_flow_type") or "F", [action_set], [])
    placeholders = Placeholders()
    placeholders.compare(case["expected"]["action"], flow["nodes"][0]["actions"][0], "action")
    placeholders.compare(case["expected"]["localization"], flow["localization"], "localization")


def _check_test(case: Case) -> None:
    rule = {"uuid": RULE, "test": case["legacy"], "category": {"eng": "Yes"}}
    flow = _migrate_parts("F", [], [{"uuid": NODE, "ruleset_type": "wait_message", "rules": [rule]}])
    placeholders = Placeholders()
    # A test for what is left over is no case.
    written = next(iter(flow["nodes"][0]["router"]["cases"]), None)
    placeholders.compare(case["expected"]["case"], written, "case")
    placeholders.compare(case["expected"]["localization"], flow["localization"], "localization")


def _check_rule_set(case: Case) -> None:
    legacy, expected = case["legacy"], case["expected"]
    # The nodes that the rules lead to, which are not part of the case.
    destinations = {exit["destination_uuid"] for exit in expected["node"]["exits"] if exit.get("destination_uuid")}
    others = [{"uuid": uuid, "x": 0, "y": 9999, "exit_uuid": None, "actions": []} for uuid in sorted(destinations)]
    flow = _migrate_parts("F", others, [legacy], entry=legacy["uuid"])
    node = flow["nodes"][0]
    for wanted, action in zip(expected["node"].get("actions", []), node.get("actions", []), strict=True):
        if "body" in wanted and "body" in action:
            assert _evaluate_payload(action["body"]) == _evaluate_payload(wanted["body"])
            action["body"] = wanted["body"]
    placeholders = Placeholders()
    placeholders.compare(expected["node"], node, "node")
    placeholders.compare(expected["localization"], flow["localization"], "localization")
    placeholders.compare(expected["ui"], flow["_ui"]["nodes"][legacy["uuid"]], "ui")


def _migrate_parts(flow_type: str, action_sets: list[Case], rule_sets: list[Case], entry: str = NODE) -> Case:
    definition = {
        "version": "11.12",
        "metadata": {"uuid": FLOW, "name": "Legacy"},
        "base_language": "eng",
        "flow_type": flow_type,
        "entry": entry,
        "action_sets": action_sets,
        "rule_sets": rule_sets,
    }
    return migrate(definition, to="13.0.0", media_url=MEDIA_URL)


def _evaluate_payload(template: str) -> list[str]:
    """What a body posts, with a message and without one; how the expression is laid out makes no difference."""
    message = {
        "uuid": "i",
        "type": "msg",
        "created_on": NOW,
        "channel": {"uuid": "c", "name": "C", "address": "123"},
        "urn": "tel:+12065551212",
        "text": "Hi",
        "attachments": ["image/jpeg:http://a.b/c.jpg"],
    }
    result = {"name": "A", "value": "1", "category": "B", "category_localized": "C", "input": "1", "extra": None}
    context = {
        "contact": {"uuid": "c", "name": "Bob", "urn": "tel:+12065551212"},
        "run": {"uuid": "r", "created_on": NOW, "path": [{"node_uuid": "n"}], "flow": {"uuid": "f", "name": "F"}},
        "results": {"a": {**result, "node_uuid": "n", "created_on": NOW}},
    }
    posted = []
    for received in (message, {**message, "urn": None, "channel": None}, None):
        values = {name: to_value(item) for name, item in {**context, "input": received}.items()}
        posted.append(evaluate_text(template, XObject(values), Environment(), standing_clock(NOW), limit=None))
    assert not any(result.errors for result in posted), posted
    return [result.text for result in posted]


def check_legacy_expression(case: Case, fixtures: Case) -> None:
    """Migrates an old template, or compares what the migrated one means with what the old one meant."""
    if case["kind"] == "migrate":
        options = TemplateOptions(default_to_self=case["default_to_self"])
        assert migrate_template(case["old"], options).template == case["new"]
    else:
        check_meaning(case)


_KINDS: dict[str, Callable[[Case], None]] = {
    "flow": _check_flow,
    "action": _check_action,
    "test": _check_test,
    "ruleset": _check_rule_set,
}

CHECKS: dict[str, Callable[[Case, Case], None]] = {
    "migrations": check_migration,
    "legacy_definitions": check_legacy_definition,
    "legacy_expressions": check_legacy_expression,
}
