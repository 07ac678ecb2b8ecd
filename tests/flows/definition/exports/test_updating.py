"""Old export files: numbers become UUIDs, and malformed parts are repaired."""

from __future__ import annotations

from flows.definition import list_findings
from flows.definition.exports import list_needs, read_export, update_file
from tests.flows.definition.exports.files import make_campaign, make_event, make_old_file, make_old_flow, make_trigger
from tests.flows.definition.specimens import FLOW, Json, make_legacy_flow, make_rule, make_rule_set

ENTER: Json = {"type": "flow", "name": "Child", "id": 72}


def test_a_flow_starts_the_other_one_of_its_file() -> None:
    start = {"type": "trigger-flow", "name": "Child", "id": 72, "contacts": [], "groups": [], "variables": []}

    content = read_export(make_old_file(make_old_flow(71, "Parent", ENTER, start), make_old_flow(72, "Child")))

    parent, child = content.flows
    actions = parent["nodes"][0]["actions"]
    assert [action["type"] for action in actions] == ["enter_flow", "start_session"]
    assert all(action["flow"] == {"uuid": child["uuid"], "name": "Child"} for action in actions)


def test_a_flow_that_is_not_in_the_file_keeps_its_name_and_is_one_missing_flow() -> None:
    content = read_export(make_old_file(make_old_flow(71, "Parent", ENTER, ENTER)))

    (missing,) = list_needs(content).flows
    assert missing.name == "Child"
    assert missing.uuid != content.flows[0]["uuid"]


def test_an_updated_flow_can_be_checked_by_itself() -> None:
    file = make_old_file(make_old_flow(71, "Parent", ENTER), make_old_flow(72, "Child"))

    updated = update_file(file)

    assert [flow["name"] for flow in updated["flows"]] == ["Parent", "Child"]
    assert [list_findings(flow) for flow in updated["flows"]] == [[], []]
    assert "uuid" not in file["flows"][0]


def test_reading_again_gives_the_same_uuids() -> None:
    file = make_old_file(make_old_flow(71, "Parent", ENTER), make_old_flow(72, "Child"))

    assert read_export(file) == read_export(file)


def test_triggers_and_events_refer_to_flows_of_the_file_by_uuid() -> None:
    named = {"name": "Child", "id": 72}
    campaign = make_campaign(make_event(flow=named, uuid=None), uuid=None, group={"name": "Members", "id": 5})

    content = read_export(
        make_old_file(
            make_old_flow(72, "Child"),
            campaigns=[campaign],
            triggers=[make_trigger("K", flow=named, keyword="join")],
        )
    )

    uuid = content.flows[0]["uuid"]
    (read,) = content.campaigns
    assert read.events[0].flow is not None
    assert (read.events[0].flow.uuid, content.triggers[0].flow.uuid) == (uuid, uuid)
    assert read.uuid and read.events[0].uuid and read.uuid != read.events[0].uuid
    assert (read.group.uuid, read.group.name) == ("", "Members")


def test_the_uuid_of_a_flow_that_has_one_is_kept() -> None:
    subflow = make_rule_set(
        make_rule(21, {"type": "subflow", "exit_type": "completed"}, {"eng": "Completed"}),
        ruleset_type="subflow",
        config={"flow": {"name": "Registration", "uuid": FLOW}},
    )
    content = read_export({"version": "11.12", "flows": [make_legacy_flow([], [subflow])]})

    assert content.flows[0]["uuid"] == FLOW
    assert list_needs(content).flows[0].uuid == FLOW


def test_a_channel_that_is_none_is_not_set() -> None:
    reply = {"type": "reply", "msg": {"eng": "Hi"}}
    flow = make_old_flow(71, "Parent", {"type": "channel", "channel": "CHANNEL", "name": "Not ours"}, reply)

    (read,) = read_export(make_old_file(flow)).flows

    assert [action["type"] for action in read["nodes"][0]["actions"]] == ["send_msg"]


def test_a_group_given_alone_is_a_list_of_one_and_one_without_a_name_does_not_become_all_groups() -> None:
    flow = make_old_flow(
        71,
        "Parent",
        {"type": "add_group", "group": {"name": "Members", "id": 5}},
        {"type": "del_group", "group": {"id": 6}},
    )

    content = read_export(make_old_file(flow))

    (add,) = content.flows[0]["nodes"][0]["actions"]
    assert add["groups"] == [{"name_match": "Members"}]
    assert [group.name for group in list_needs(content).groups] == ["Members"]


def test_a_flow_without_a_name_gets_one_by_its_position() -> None:
    nameless = {**make_old_flow(71, ""), "id": None}

    assert read_export(make_old_file(make_old_flow(70, "First"), nameless)).flows[1]["name"] == "Flow 2"
