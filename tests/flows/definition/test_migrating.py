"""Migrating definitions: which steps are taken, from where to where, and what is refused."""

from __future__ import annotations

import copy
from itertools import count
from typing import Any

import pytest

from flows.definition import DefinitionError, load, migrate
from flows.definition.migrating import NEWEST, STEPS, write_version
from tests.flows.definition.specimens import EARLY_FLOW, FLOW, LEGACY_FLOW, SEND, make_flow, make_uuid


def test_a_definition_is_brought_to_the_newest_version() -> None:
    assert migrate(EARLY_FLOW)["spec_version"] == write_version(NEWEST) == "14.4.2"
    assert load(EARLY_FLOW).spec_version == "14.4.2"


def test_steps_are_taken_in_the_order_of_their_versions() -> None:
    assert list(STEPS) == sorted(STEPS)
    assert max(STEPS) == NEWEST


@pytest.mark.parametrize("to", ["13.1.0", "13.6.0", "14.0.0", "14.3.1"])
def test_a_definition_is_brought_to_the_version_asked_for_and_no_further(to: str) -> None:
    assert migrate(EARLY_FLOW, to=to)["spec_version"] == to


@pytest.mark.parametrize(("version", "to"), [("13.2.0", "13.1.0"), ("14.4.2", None), ("13.0", "13.0.0")])
def test_a_definition_that_is_new_enough_stays_as_it_is(version: str, to: str | None) -> None:
    flow = make_flow(version=version)

    assert migrate(flow, to=to) == flow


def test_steps_one_by_one_give_the_same_as_all_at_once() -> None:
    numbers = count(1)
    flow: dict[str, Any] = EARLY_FLOW
    for version in STEPS:
        flow = migrate(flow, to=write_version(version), new_uuid=lambda: make_uuid(next(numbers)))

    others = count(1)
    assert migrate(EARLY_FLOW, new_uuid=lambda: make_uuid(next(others))) == flow


def test_the_given_definition_is_left_alone() -> None:
    before = copy.deepcopy(EARLY_FLOW)

    migrate(EARLY_FLOW)

    assert before == EARLY_FLOW


def test_the_migrated_definition_can_be_changed_without_changing_the_given_one() -> None:
    flow = migrate(EARLY_FLOW)
    before = copy.deepcopy(flow)

    migrate(flow)["nodes"][0]["actions"][0]["text"] = "changed"

    assert flow == before


def test_what_editors_keep_is_kept_and_so_are_unknown_keys() -> None:
    migrated = migrate({**EARLY_FLOW, "parent_refs": ["x"], "_ui": {"nodes": {SEND: {"type": "smoke"}}}})

    assert migrated["parent_refs"] == ["x"]
    assert migrated["_ui"] == {"nodes": {SEND: {"type": "smoke"}}}


@pytest.mark.parametrize("version", ["14.5.0", "15.0.0", "12.0.0", "13", "latest", None, 13])
def test_versions_that_are_unknown_or_newer_are_refused(version: Any) -> None:
    with pytest.raises(DefinitionError) as caught:
        migrate(make_flow(version=version))

    assert (caught.value.flow, caught.value.field) == (FLOW, "spec_version")


def test_a_target_that_is_no_version_is_refused() -> None:
    with pytest.raises(DefinitionError):
        migrate(EARLY_FLOW, to="soon")


def test_an_old_definition_goes_all_the_way() -> None:
    flow = load(LEGACY_FLOW)

    assert (flow.uuid, flow.spec_version, flow.type) == (FLOW, "14.4.2", "messaging")
    assert flow.nodes[2].router is not None
    assert flow.nodes[2].router.operand == "@(default(webhook.status, 0))"


def test_uuids_that_are_made_up_are_the_same_every_time() -> None:
    assert migrate(LEGACY_FLOW) == migrate(LEGACY_FLOW)
    assert migrate(EARLY_FLOW) == migrate(EARLY_FLOW)


def test_uuids_that_are_made_up_differ_from_flow_to_flow() -> None:
    other = {**LEGACY_FLOW, "metadata": {**LEGACY_FLOW["metadata"], "uuid": make_uuid(99)}}
    first, second = migrate(LEGACY_FLOW), migrate(other)

    assert first["nodes"][1]["router"]["categories"] != second["nodes"][1]["router"]["categories"]


def test_flows_of_generation_13_can_be_loaded_for_generation_13() -> None:
    flow = load(EARLY_FLOW, to="13.2.0")

    assert flow.spec_version == "13.2.0"
    assert flow.nodes[0].actions[0].fields["text"] == "Hi @webhook.name"
