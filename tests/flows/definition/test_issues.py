"""Issues: patterns that cannot work, and recipients by expression; what is missing is in test_inspection."""

from __future__ import annotations

import pytest

from flows.definition import Issue, inspect, load
from tests.flows.definition.specimens import (
    ASK,
    CALL,
    CASE,
    GROUP,
    SEND,
    Json,
    make_case,
    make_flow,
    make_node,
    make_router,
    make_uuid,
)


def list_issues(*nodes: Json, localization: Json | None = None) -> tuple[Issue, ...]:
    return inspect(load(make_flow(*nodes, version="14.4.2", localization=localization or {}))).issues


def make_pattern_node(pattern: str) -> Json:
    return make_node(router=make_router("@input", make_case("has_pattern", pattern)))


def test_a_pattern_that_cannot_be_compiled_is_an_issue_of_its_node() -> None:
    (issue,) = list_issues(make_pattern_node("[["))

    assert issue.to_json() == {
        "type": "invalid_regex",
        "node_uuid": ASK,
        "description": "invalid regex: [[",
        "regex": "[[",
    }
    assert issue.place.field == "router.cases.arguments"


@pytest.mark.parametrize("pattern", [r"\d+", "(a|b)*", '@("[")', "@results.pattern [["])
def test_a_pattern_that_is_fine_or_only_known_at_work_is_none(pattern: str) -> None:
    assert list_issues(make_pattern_node(pattern)) == ()


def test_a_translated_pattern_is_checked_too() -> None:
    (issue,) = list_issues(make_pattern_node("ok"), localization={"spa": {CASE: {"arguments": ["(?<"]}}})

    assert (issue.place.language, issue.regex) == ("spa", "(?<")


def test_recipients_by_expression_are_an_issue_of_starts_only() -> None:
    start = {
        "type": "start_session",
        "uuid": SEND,
        "flow": {"uuid": GROUP, "name": "Other"},
        "legacy_vars": ["@fields.friend", "@contact.uuid"],
    }
    broadcast = {"type": "send_broadcast", "uuid": make_uuid(12), "text": "Hi", "legacy_vars": ["@fields.friend"]}

    (issue,) = list_issues(make_node(start, broadcast))

    assert issue.to_json()["vars"] == ["@fields.friend", "@contact.uuid"]
    assert (issue.type, issue.place.action_uuid) == ("legacy_vars", SEND)


def test_issues_come_in_the_order_of_the_nodes() -> None:
    second = {**make_pattern_node("(("), "uuid": CALL, "exits": [{"uuid": make_uuid(29)}]}
    second["router"] = {
        **second["router"],
        "categories": [{"uuid": make_uuid(31), "name": "Yes", "exit_uuid": make_uuid(29)}],
    }
    start = {"type": "start_session", "uuid": SEND, "flow": {"uuid": GROUP, "name": "Other"}, "legacy_vars": ["@x"]}

    issues = list_issues(make_node(start, router=make_router("@input", make_case("has_pattern", "[["))), second)

    assert [(issue.place.node_uuid, issue.type) for issue in issues] == [
        (ASK, "invalid_regex"),
        (ASK, "legacy_vars"),
        (CALL, "invalid_regex"),
    ]
