"""Checks the cases about definitions: inspection, refusals, change of the base language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from flows.definition import DefinitionError, Flow, change_base_language, inspect, load
from flows.definition.exports import ExportError, list_needs, read_export
from flows.definition.exports.reading import OLDEST_FILE
from flows.definition.flow_texts import list_localizables, list_templates
from flows.engine import Assets

Case = dict[str, Any]


def check_inspection_case(case: Case, fixtures: Case) -> None:
    """Inspects, refuses or turns round one flow."""
    _KINDS[case["kind"]](case, fixtures)


def _check_issues(case: Case, fixtures: Case) -> None:
    assets = None if case["no_assets"] else Assets.from_json(fixtures["issue_assets"])
    found = inspect(load(case["flow"]), assets).to_json()["issues"]
    assert _sort(found) == _sort(case["issues"])


def _sort(issues: list[Case]) -> list[Case]:
    # The reference leaves open in which order the issues of one node come.
    return sorted(issues, key=repr)


def _check_whole_inspection(case: Case, fixtures: Case) -> None:
    assets = Assets.from_json(case["assets"])
    flow = assets.find_flow(case["uuid"])
    assert flow is not None
    _assert_inspection(case["inspection"], flow, assets)


def _check_refusal(case: Case, fixtures: Case) -> None:
    with pytest.raises(DefinitionError):
        Assets.from_json(case["assets"]).find_flow("76f0a02f-3b75-4b86-9064-e9195e1b3a02")


def _check_change_of_language(case: Case, fixtures: Case) -> None:
    definition = next(flow for flow in case["assets"]["flows"] if flow["uuid"] == case["uuid"])
    changed = change_base_language(definition, case["language"])
    assert _without_nothing(changed) == _without_nothing(case["flow_after"])
    load(changed)


def _without_nothing(value: Any) -> Any:
    # The reference writes a definition anew and leaves out what is null or an empty list.
    if isinstance(value, list):
        return [_without_nothing(item) for item in value]
    if isinstance(value, dict):
        return {name: _without_nothing(item) for name, item in value.items() if item is not None and item != []}
    return value


def _assert_inspection(expected: Mapping[str, Any], flow: Flow, assets: Assets) -> None:
    actual = inspect(flow, assets).to_json()
    # What only flows of some versions have may be left out.
    assert {name: actual[name] for name in expected if name != "issues"} == _without_issues(expected)
    assert _sort(actual["issues"]) == _sort(expected["issues"])


def _without_issues(inspection: Mapping[str, Any]) -> Case:
    return {name: item for name, item in inspection.items() if name != "issues"}


def assert_inspected(expected: Mapping[str, Any], uuid: str, assets: Assets) -> None:
    """Fails unless what can be told of a flow without running it is what is expected."""
    flow = assets.find_flow(uuid)
    assert flow is not None
    assert [found.text for found in list_templates(flow)] == (expected.get("templates") or [])
    assert [found.text for found in list_localizables(flow)] == (expected.get("localizables") or [])
    if "inspection" in expected:
        _assert_inspection(expected["inspection"], flow, assets)


_KINDS: dict[str, Callable[[Case, Case], None]] = {
    "issues": _check_issues,
    "inspection": _check_whole_inspection,
    "broken": _check_refusal,
    "change_language": _check_change_of_language,
}


def check_export(case: Case, fixtures: Case) -> None:
    """Reads an export file, writes it and reads it again."""
    given = case["export"]
    if int(str(case["version"]).split(".")[0]) < OLDEST_FILE:
        with pytest.raises(ExportError):
            read_export(given)
        return
    content = read_export(given)
    written = content.to_json()
    assert read_export(written) == content
    # Schedules are known of in old files, but were never exported with their times.
    expected = {**given, "triggers": [each for each in given.get("triggers") or () if each["trigger_type"] != "S"]}
    assert {part: len(written[part]) for part in case["shape"]} == {part: len(expected[part]) for part in case["shape"]}
    names = [_find_name(flow) or f"Flow {position}" for position, flow in enumerate(given["flows"], 1)]
    assert names == [flow["name"] for flow in content.flows]
    assert [campaign.name for campaign in content.campaigns] == [each["name"] for each in given.get("campaigns") or ()]
    assert [field.key for field in content.fields] == [each["key"] for each in given.get("fields") or ()]
    uuids = {flow["name"]: flow["uuid"] for flow in content.flows}
    for flow in list_needs(content).flows:
        assert flow.uuid == uuids.get(flow.name, flow.uuid), "flows of a file refer to one another"


def _find_name(flow: Case) -> str:
    inner = flow.get("definition") or flow
    return str(flow.get("name") or (inner.get("metadata") or {}).get("name") or "")


CHECKS: dict[str, Callable[[Case, Case], None]] = {
    "flow_inspection": check_inspection_case,
    "definition_exports": check_export,
}
