"""Issues: patterns that cannot work, and recipients by expression; what is missing is in test_inspection.

Inspection: what a flow produces, what it needs, and in which languages.

All problems of a definition, with their places.
"""

from __future__ import annotations

from typing import Any

import pytest

from flows.definition import Inspection, Issue, inspect, list_findings, load
from tests.flows.definition.specimens import (
    ASK,
    CALL,
    CASE,
    EARLY_FLOW,
    FLOW,
    GROUP,
    OUT,
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


class Workspace:
    """Knows only what it was made with."""

    def __init__(self, *known: tuple[str, str]) -> None:
        self.known = known

    def knows(self, kind: str, identity: str) -> bool:
        return (kind, identity) in self.known


def inspect_nodes(*nodes: Json, assets: Workspace | None = None, **more: Any) -> Inspection:
    return inspect(load(make_flow(*nodes, version="14.4.2", **more)), assets)


def inspect_text(text: str, **more: Any) -> Inspection:
    return inspect_nodes(make_node({"type": "send_msg", "uuid": SEND, "text": text}), **more)


def set_result(number: int, name: str, category: str = "") -> Json:
    return {"type": "set_run_result", "uuid": make_uuid(number), "name": name, "value": "1", "category": category}


def list_keys(inspection: Inspection, kind: str) -> list[str]:
    return [each.reference.identity for each in inspection.dependencies if each.reference.kind == kind]


def test_results_of_one_key_are_one_with_the_first_name_and_all_categories() -> None:
    found = inspect_nodes(
        make_node(
            set_result(11, "My Age", "Known"), set_result(12, "my age", "KNOWN"), set_result(13, "My Age", "Old")
        ),
        make_node(set_result(14, "My  Age"), uuid=CALL, out=make_uuid(29)),
    )

    (result,) = found.results
    assert (result.key, result.name) == ("my_age", "My Age")
    assert result.categories == ("Known", "Old")
    assert result.node_uuids == (ASK, CALL)


def test_a_router_saves_its_categories_and_a_call_success_and_failure() -> None:
    found = inspect(load(EARLY_FLOW))

    assert {result.name: result.categories for result in found.results} == {
        "Age": ("Known",),
        "Answer": ("Yes",),
        "Call": ("Success", "Failure"),
    }


def test_actions_without_a_result_name_save_none() -> None:
    call = {"type": "call_webhook", "uuid": SEND, "method": "GET", "url": "http://example.com"}

    assert inspect_nodes(make_node(call)).results == ()


def test_fields_and_globals_are_found_in_templates_and_named_once() -> None:
    found = inspect_text(
        "@fields.age @contact.fields.Age @(parent.fields.town & child.contact.fields.sex) @globals.org"
    )

    assert list_keys(found, "field") == ["age", "town", "sex"]
    assert list_keys(found, "global") == ["org"]


def test_an_address_in_a_text_is_no_dependency() -> None:
    assert inspect_text("write to me@example.org and @hello.fields.age, or @@fields.age").dependencies == ()


def test_translations_count_in_every_language() -> None:
    localization = {
        "spa": {SEND: {"text": ["Hola @fields.town"]}},
        "fra": {SEND: {"text": ["Salut @fields.sex"]}},
    }

    found = inspect_text("Hi", localization=localization, assets=Workspace())

    assert list_keys(found, "field") == ["sex", "town"]
    assert [(issue.place.language, issue.place.action_uuid) for issue in found.issues] == [("fra", SEND), ("spa", SEND)]
    assert found.language_count == 2


def test_results_of_the_parent_are_named_once_and_sorted() -> None:
    found = inspect_text("@parent.results.town.category @(parent.results.age) @parent.results.Town @results.own")

    assert found.parent_refs == ("age", "town")


def test_references_come_from_actions_and_from_tests_for_a_group() -> None:
    start = {
        "type": "start_session",
        "uuid": SEND,
        "flow": {"uuid": make_uuid(50), "name": "Other"},
        "groups": [{"uuid": GROUP, "name": "Members"}, {"name_match": "@fields.town"}],
        "contacts": [{"uuid": make_uuid(51), "name": "Ann"}],
    }
    router = make_router("@contact.groups", make_case("has_group", make_uuid(52), "Others"))

    found = inspect_nodes(make_node(start, router=router))

    assert [(each.reference.kind, each.reference.name) for each in found.dependencies] == [
        ("group", "Members"),
        ("contact", "Ann"),
        ("flow", "Other"),
        ("group", "Others"),
        ("field", ""),
    ]


def test_a_test_for_a_group_is_inspected_in_its_translations() -> None:
    router = make_router("@contact.groups", make_case("has_group", GROUP, "Members"))
    localization = {"spa": {CASE: {"arguments": [make_uuid(53), "Miembros"]}}}

    found = inspect_nodes(make_node(router=router), localization=localization)

    assert list_keys(found, "group") == [GROUP, make_uuid(53)]


def test_what_the_workspace_lacks_is_missing_but_contacts_are_taken_to_exist() -> None:
    broadcast = {
        "type": "send_broadcast",
        "uuid": SEND,
        "text": "Hi",
        "groups": [{"uuid": GROUP, "name": "Members"}, {"uuid": make_uuid(54), "name": "Gone"}],
        "contacts": [{"uuid": make_uuid(51), "name": "Ann"}],
    }

    found = inspect_nodes(make_node(broadcast), assets=Workspace(("group", GROUP)))

    assert [(each.reference.name, each.missing) for each in found.dependencies] == [
        ("Members", False),
        ("Gone", True),
        ("Ann", False),
    ]
    assert found.to_json()["dependencies"][1] == {
        "uuid": make_uuid(54),
        "name": "Gone",
        "type": "group",
        "missing": True,
    }


def test_without_assets_nothing_is_missing() -> None:
    found = inspect_text("@fields.age")

    assert not any(each.missing for each in found.dependencies)
    assert found.issues == ()


def test_a_user_goes_by_uuid_and_a_template_for_an_address_is_no_dependency() -> None:
    def open_ticket(assignee: Json) -> Json:
        return {"type": "open_ticket", "uuid": SEND, "note": "Help", "assignee": assignee}

    by_uuid = inspect_nodes(make_node(open_ticket({"uuid": make_uuid(55), "name": "Ann"})))
    by_template = inspect_nodes(make_node(open_ticket({"email_match": "@fields.agent"})))

    assert list_keys(by_uuid, "user") == [make_uuid(55)]
    assert [each.reference.kind for each in by_template.dependencies] == ["field"]
    assert by_uuid.locals == ("_new_ticket",)


def test_classifiers_are_dependencies_of_flows_of_version_13_only() -> None:
    classify = {
        "type": "call_classifier",
        "uuid": SEND,
        "classifier": {"uuid": make_uuid(56), "name": "Booking"},
        "input": "@input",
        "result_name": "Intent",
    }
    definition = make_flow(make_node(classify))

    assert list_keys(inspect(load(definition, to="13.2.0")), "classifier") == [make_uuid(56)]
    assert list_keys(inspect(load(definition)), "classifier") == []


def test_exits_of_nodes_that_wait_are_listed() -> None:
    assert inspect(load(EARLY_FLOW)).waiting_exits == (OUT,)


def test_locals_are_sorted_and_named_once() -> None:
    def set_local(number: int, name: str) -> Json:
        return {"type": "set_run_local", "uuid": make_uuid(number), "local": name, "value": "1", "operation": "set"}

    found = inspect_nodes(make_node(set_local(11, "town"), set_local(12, "age"), set_local(13, "town")))

    assert found.locals == ("age", "town")


def test_the_form_services_exchange_has_every_part() -> None:
    written = inspect(load(EARLY_FLOW), Workspace()).to_json()

    assert written["counts"] == {"languages": 1, "nodes": 2}
    assert {"dependencies", "locals", "results", "parent_refs", "waiting_exits", "issues"} < set(written)
    assert written["issues"][0] == {
        "type": "missing_dependency",
        "node_uuid": ASK,
        "action_uuid": SEND,
        "description": f"missing template dependency '{GROUP}'",
        "dependency": {"uuid": GROUP, "name": "welcome", "type": "template"},
    }


def test_a_definition_that_is_refused_has_one_finding_with_the_place_of_the_fault() -> None:
    definition = make_flow(make_node({"type": "set_contact_status", "uuid": SEND, "status": "drunk"}))

    (finding,) = list_findings(definition)

    assert finding.to_json() == {
        "type": "invalid_definition",
        "message": '"drunk" is none of active, archived, blocked, stopped',
        "fatal": True,
        "flow_uuid": FLOW,
        "node_uuid": ASK,
        "action_uuid": SEND,
        "field": "actions[0].status",
        "language": "",
    }


def test_an_expression_that_cannot_be_parsed_is_found_in_every_language() -> None:
    message = {"type": "send_msg", "uuid": SEND, "text": "Hi @(1 +) @contact.name"}
    definition = make_flow(make_node(message), localization={"spa": {SEND: {"text": ["Hola @(* 2)"]}}})

    found = list_findings(definition)

    assert [(each.type, each.place.field, each.place.language) for each in found] == [
        ("invalid_expression", "text", ""),
        ("invalid_expression", "text", "spa"),
    ]
    assert found[0].message.startswith("@(1 +): ")


def test_a_node_that_no_way_leads_to_is_found() -> None:
    first, lost = make_node(), make_node(uuid=CALL, out=make_uuid(29))

    (finding,) = list_findings(make_flow(first, lost))

    assert (finding.type, finding.place.node_uuid, finding.is_fatal) == ("unreachable_node", CALL, False)


def test_loops_are_followed_and_issues_are_among_the_findings_in_the_order_of_the_nodes() -> None:
    first = make_node()
    first["exits"][0]["destination_uuid"] = CALL
    second = make_node(uuid=CALL, out=make_uuid(29), router=make_router("@input", make_case("has_pattern", "[[")))
    second["router"]["categories"][0]["exit_uuid"] = make_uuid(29)
    second["exits"][0]["destination_uuid"] = ASK
    message = {"type": "send_msg", "uuid": SEND, "text": "@(1 +)"}
    first["actions"] = [message]

    found = list_findings(make_flow(first, second))

    assert [(each.type, each.place.node_uuid) for each in found] == [
        ("invalid_expression", ASK),
        ("invalid_regex", CALL),
    ]


def test_a_flow_without_nodes_has_no_findings() -> None:
    assert list_findings(make_flow()) == []


def test_what_is_missing_is_named() -> None:
    class Nothing:
        def knows(self, kind: str, identity: str) -> bool:
            return False

    enter = {"type": "enter_flow", "uuid": SEND, "flow": {"uuid": CALL, "name": "Other"}}

    (finding,) = list_findings(make_flow(make_node(enter)), Nothing())

    assert finding.message == f"missing flow dependency '{CALL}' (Other)"
