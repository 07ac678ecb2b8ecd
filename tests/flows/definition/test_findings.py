"""All problems of a definition, with their places."""

from __future__ import annotations

from flows.definition import list_findings
from tests.flows.definition.specimens import (
    ASK,
    CALL,
    FLOW,
    SEND,
    make_case,
    make_flow,
    make_node,
    make_router,
    make_uuid,
)


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
