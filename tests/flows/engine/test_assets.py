"""What sessions find in a workspace's assets."""

from __future__ import annotations

from flows import Assets
from flows.definition import load
from tests.flows.engine.playing import flow, node
from tests.flows.hypothesis.workspace import CHILD, FLOW, GROUP, USER, make_assets


def test_a_flow_that_was_read_is_used_as_it_is_but_read_again_for_generation_13() -> None:
    read = load(flow(node(0), spec_version="13.2.0"), to="13.6.1")

    assert Assets(flows=[read]).find_flow(FLOW) is read
    early = Assets(flows=[read], generation=13).find_flow(FLOW)
    assert early is not None and early is not read


def test_what_flows_refer_to_is_known_by_uuid_key_or_address() -> None:
    known = Assets.from_json({**make_assets(14), "flows": [flow(node(0)), {"uuid": CHILD, "name": "No flow"}]})

    for kind, identity in (("group", GROUP), ("field", "age"), ("user", USER), ("user", "ANN@example.com")):
        assert known.knows(kind, identity)
    for kind, identity in (("group", CHILD), ("user", "bob@example.com"), ("flow", CHILD), ("other", GROUP)):
        assert not known.knows(kind, identity)
    assert known.knows("flow", FLOW)


def test_flows_are_found_by_their_whole_name_in_any_case() -> None:
    named = [flow(node(0)), {**flow(node(0), uuid=CHILD), "name": "Things"}]
    known = Assets.from_json({**make_assets(14), "flows": named})

    assert [known.find_flow_uuid_by_name(name) for name in ("THING", "things", "thin", "")] == [FLOW, CHILD, None, None]
