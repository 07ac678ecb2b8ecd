"""The steps from version 14.0 to 14.4.2, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from flows.definition import migrate
from tests.flows.definition.specimens import (
    CALL_CASE,
    CASE,
    FAILURE,
    LAST_CASE,
    OPEN,
    SEND,
    SUCCESS,
    WEBHOOK,
    Json,
    make_case,
    make_flow,
    make_node,
    make_router,
    make_split,
)

STATUS_CASE = {
    "uuid": CALL_CASE,
    "type": "has_number_between",
    "arguments": ["200", "299"],
    "category_uuid": SUCCESS,
}


def call(kind: str = "call_webhook", **more: Any) -> Json:
    return {"type": kind, "uuid": WEBHOOK, **more}


def case(uuid: str, kind: str, *arguments: str, category: str = SUCCESS) -> Json:
    return {"uuid": uuid, "type": kind, "arguments": list(arguments), "category_uuid": category}


def split(action: Json, operand: str, *, version: str, **more: Any) -> Json:
    cases = [case(CALL_CASE, "has_only_text", "Success"), case(LAST_CASE, "has_text", category=FAILURE)]
    return make_flow(make_split(action, operand, *cases), version=version, **more)


def router_of(flow: Json) -> Any:
    return flow["nodes"][0]["router"]


@pytest.mark.parametrize(
    ("flow_type", "before", "after"),
    [
        ("messaging", 20160, 20160),
        ("messaging", 20161, 20160),
        ("messaging", 0, 0),
        ("messaging", -60, 0),
        ("voice", 60, 15),
        ("messaging_background", 60, 0),
        ("messaging_offline", 60, 0),
    ],
)
def test_expirations_are_clamped_to_what_the_type_allows(flow_type: str, before: int, after: int) -> None:
    flow = make_flow(version="13.6.1", type=flow_type, expire_after_minutes=before)

    assert migrate(flow, to="14.0.0")["expire_after_minutes"] == after


def test_a_flow_that_says_nothing_of_expiration_still_says_nothing() -> None:
    flow = make_flow(version="13.6.1")
    del flow["expire_after_minutes"]

    assert "expire_after_minutes" not in migrate(flow, to="14.0.0")


def test_categories_without_a_name_are_called_match() -> None:
    router = make_router("@input")
    router["categories"] = [{**router["categories"][0], "name": ""}]

    migrated = migrate(make_flow(make_node(router=router), version="13.6.1"), to="14.0.0")

    assert router_of(migrated)["categories"][0]["name"] == "Match"


@pytest.mark.parametrize("kind", ["call_webhook", "call_resthook"])
def test_webhook_nodes_choose_by_the_status_instead_of_the_result(kind: str) -> None:
    flow = split(call(kind, result_name="Call"), "@results.call.category", version="14.0.0")

    router = router_of(migrate(flow, to="14.1.0"))

    assert (router["operand"], router["cases"]) == ("@webhook.status", [STATUS_CASE])
    assert router["default_category_uuid"] == FAILURE


def test_nodes_that_choose_by_something_else_stay() -> None:
    flow = split(call(), "@webhook.json.status", version="14.0.0")

    assert router_of(migrate(flow, to="14.1.0")) == router_of(flow)


def test_nodes_that_do_more_than_call_stay() -> None:
    flow = split(call(), "@results.call.category", version="14.0.0")
    flow["nodes"][0]["actions"].append({"type": "set_contact_name", "uuid": SEND, "name": "Bob"})

    assert migrate(flow)["nodes"] == flow["nodes"]


def test_quick_replies_beyond_ten_are_dropped_in_all_languages() -> None:
    replies = [str(number) for number in range(12)]
    action = {"type": "send_msg", "uuid": SEND, "text": "Hi", "quick_replies": replies}
    flow = make_flow(make_node(action), version="14.0.0", localization={"spa": {SEND: {"quick_replies": replies}}})

    migrated = migrate(flow, to="14.1.0")

    assert migrated["nodes"][0]["actions"][0]["quick_replies"] == replies[:10]
    assert migrated["localization"]["spa"][SEND]["quick_replies"] == replies[:10]


@pytest.mark.parametrize(
    ("given", "note"),
    [
        ({"body": "Help @contact"}, "Help @contact"),
        ({"body": ""}, ""),
        ({"body": "", "note": "Help"}, "Help"),
    ],
)
def test_the_body_of_a_ticket_becomes_its_note(given: dict[str, str], note: str) -> None:
    flow = make_flow(make_node({"type": "open_ticket", "uuid": OPEN, **given}), version="14.1.0")

    action = migrate(flow, to="14.2.0")["nodes"][0]["actions"][0]

    assert action == {"type": "open_ticket", "uuid": OPEN, "note": note}


def test_translations_to_no_language_are_dropped() -> None:
    flow = make_flow(version="14.1.0", localization={"spa": {}, "base": {}, "xx": {}})

    assert migrate(flow, to="14.2.0")["localization"] == {"spa": {}}


@pytest.mark.parametrize(
    ("kind", "operand"),
    [("open_ticket", "@locals._new_ticket"), ("transfer_airtime", "@locals._new_transfer")],
)
def test_ticket_and_airtime_nodes_choose_by_a_local_and_the_router_saves(kind: str, operand: str) -> None:
    flow = split(call(kind, result_name="Outcome"), "@results.outcome.category", version="14.2.0")

    node = migrate(flow, to="14.3.0")["nodes"][0]

    assert node["actions"] == [call(kind)]
    assert (node["router"]["operand"], node["router"]["result_name"]) == (operand, "Outcome")
    assert node["router"]["cases"] == [case(CALL_CASE, "has_text")]


def test_words_given_one_by_one_to_a_test_of_one_text_are_joined() -> None:
    router = make_router("@input", make_case("has_any_word", "yes", "yeah"))
    localization = {"spa": {CASE: {"arguments": ["sí", "claro"]}}}
    flow = make_flow(make_node(router=router), version="14.3.0", localization=localization)

    migrated = migrate(flow, to="14.3.1")

    assert router_of(migrated)["cases"][0]["arguments"] == ["yes yeah"]
    assert migrated["localization"]["spa"][CASE]["arguments"] == ["sí claro"]


def test_tests_of_several_arguments_keep_them() -> None:
    router = make_router("@input", make_case("has_number_between", "1", "2"))
    flow = make_flow(make_node(router=router), version="14.3.0")

    assert router_of(migrate(flow, to="14.3.1")) == router


def test_messages_no_longer_go_to_all_addresses() -> None:
    action = {"type": "send_msg", "uuid": SEND, "text": "Hi"}
    flow = make_flow(make_node({**action, "all_urns": True}), version="14.3.1")

    assert migrate(flow, to="14.4.0")["nodes"][0]["actions"] == [action]


def test_webhook_routers_of_any_shape_are_straightened() -> None:
    localization = {"spa": {CALL_CASE: {"arguments": ["x"]}, LAST_CASE: {"arguments": ["y"], "name": ["z"]}}}
    flow = split(call(), "@webhook.json.status", version="14.4.0", localization=localization)

    migrated = migrate(flow, to="14.4.1")

    assert (router_of(migrated)["operand"], router_of(migrated)["cases"]) == ("@webhook.status", [STATUS_CASE])
    assert migrated["localization"] == {"spa": {LAST_CASE: {"name": ["z"]}}}


def test_a_webhook_that_was_never_called_counts_as_status_zero() -> None:
    flow = split(call(), "@webhook.status", version="14.4.1")

    assert router_of(migrate(flow))["operand"] == "@(default(webhook.status, 0))"


def test_other_nodes_may_look_at_the_status_as_they_like() -> None:
    flow = make_flow(make_node(router=make_router("@webhook.status")), version="14.4.0")

    assert router_of(migrate(flow))["operand"] == "@webhook.status"
