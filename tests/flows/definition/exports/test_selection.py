"""Which flows, campaigns and triggers an export file contains."""

from __future__ import annotations

import pytest

from flows.definition.exports import CampaignParts, Dependencies, Selection, WorkspaceParts, select_parts

ALL, FLOWS, NONE = Dependencies.ALL, Dependencies.FLOWS, Dependencies.NONE
PARTS = WorkspaceParts(
    flows={"parent": ["child"], "child": [], "reminder": [], "alone": [], "member": []},
    groups_of_flows={"member": ["members"], "alone": ["others"]},
    campaigns={
        "campaign": CampaignParts("members", frozenset({"reminder"})),
        "other": CampaignParts("strangers", frozenset({"child"})),
    },
    triggers={"1": "parent", "2": "reminder", "3": "alone"},
)


def select(*flows: str, campaigns: tuple[str, ...] = (), dependencies: Dependencies = ALL) -> Selection:
    return select_parts(PARTS, flows, campaigns, dependencies)


def test_without_dependencies_only_what_was_asked_for_comes() -> None:
    found = select("parent", campaigns=("campaign",), dependencies=NONE)

    assert found == Selection(("parent",), ("campaign",), ())


def test_flows_that_are_entered_and_those_that_enter_come_along_with_their_triggers() -> None:
    assert select("parent", dependencies=FLOWS) == Selection(("parent", "child"), (), ("1",))
    assert select("child", dependencies=FLOWS) == Selection(("parent", "child"), (), ("1",))


def test_campaigns_come_along_with_everything_they_start() -> None:
    assert select("parent") == Selection(("parent", "child"), ("other",), ("1",))
    assert select("reminder") == Selection(("reminder", "member"), ("campaign",), ("2",))


def test_a_campaign_comes_along_with_a_flow_that_has_to_do_with_its_group() -> None:
    assert select("member").campaigns == ("campaign",)


@pytest.mark.parametrize("dependencies", [ALL, FLOWS])
def test_the_flows_of_a_campaign_come_along_with_it(dependencies: Dependencies) -> None:
    assert "reminder" in select(campaigns=("campaign",), dependencies=dependencies).flows


def test_what_does_not_hang_together_stays_out() -> None:
    assert select("alone") == Selection(("alone",), (), ("3",))


def test_unknown_uuids_are_passed_over_and_nothing_asked_for_is_nothing() -> None:
    assert select("nobody", campaigns=("nothing",)) == Selection((), (), ())
    assert select() == Selection((), (), ())


def test_flows_that_enter_one_another_are_no_endless_loop() -> None:
    parts = WorkspaceParts(flows={"a": ["b"], "b": ["a", "gone"]})

    assert select_parts(parts, ["b"], [], ALL).flows == ("a", "b")
