"""Inspection: what a flow produces, what it needs, and in which languages."""

from __future__ import annotations

from typing import Any

from flows.definition import Inspection, inspect, load
from tests.flows.definition.specimens import (
    ASK,
    CALL,
    CASE,
    EARLY_FLOW,
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
