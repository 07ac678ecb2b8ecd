"""What sessions find in a workspace's assets."""

from __future__ import annotations

from flows import Assets
from flows.definition import load
from tests.flows.engine.playing import flow, node
from tests.flows.hypothesis.workspace import FLOW


def test_a_flow_that_was_read_is_used_as_it_is_but_read_again_for_generation_13() -> None:
    read = load(flow(node(0), spec_version="13.2.0"), to="13.6.1")

    assert Assets(flows=[read]).find_flow(FLOW) is read
    early = Assets(flows=[read], generation=13).find_flow(FLOW)
    assert early is not None and early is not read
