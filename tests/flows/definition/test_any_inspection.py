"""Every flow that can be loaded can also be inspected, checked and changed to another language."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.definition import DefinitionError, change_base_language, inspect, list_findings, load
from tests.flows.definition.specimens import EARLY_FLOW, LEGACY_FLOW, SEND, make_flow, make_node
from tests.flows.definition.test_any_definition import EARLY_PATHS, LEGACY_PATHS, VALUES, put

DEPTH = 5_000
PLACES = [(flow, path) for flow, paths in ((EARLY_FLOW, EARLY_PATHS), (LEGACY_FLOW, LEGACY_PATHS)) for path in paths]


class Nothing:
    """A workspace without any assets."""

    def knows(self, kind: str, identity: str) -> bool:
        return False


@given(path=st.sampled_from(EARLY_PATHS), value=VALUES)
def test_what_can_be_loaded_can_be_inspected(path: tuple[Any, ...], value: Any) -> None:
    definition = put(EARLY_FLOW, path, value)
    findings = list_findings(definition, Nothing())
    if any(finding.is_fatal for finding in findings):
        with pytest.raises(DefinitionError):
            load(definition)
        return
    issues = inspect(load(definition), Nothing()).to_json()["issues"]
    assert len(findings) >= len(issues)
    with contextlib.suppress(DefinitionError):
        load(change_base_language(definition, "spa"))


@given(place=st.sampled_from(PLACES), value=VALUES)
def test_what_was_loaded_and_stored_can_be_loaded_again(place: Any, value: Any) -> None:
    definition, path = place
    try:
        flow = load(put(definition, path, value))
    except DefinitionError:
        return
    assert repr(load(flow.raw).raw) == repr(flow.raw)


@pytest.mark.parametrize(
    "text",
    [
        "@(" + "(" * DEPTH,
        "@(1" + " + 1" * DEPTH + ")",
        "@(" + "abs(" * DEPTH + ")" * (DEPTH + 1),
        "@fields" + ".a" * DEPTH,
        "@(fields" + "[0]" * DEPTH + ")",
        "@fields.x" * DEPTH,
        "\ud800 @fields.\ud800",
    ],
    ids=["parentheses", "sums", "calls", "lookups", "indexes", "many", "half a character"],
)
def test_hostile_templates_are_inspected(text: str) -> None:
    definition = make_flow(make_node({"type": "set_contact_field", "uuid": SEND, "field": {"key": "a"}, "value": text}))

    assert inspect(load(definition)).dependencies
    assert all(finding.place.action_uuid == SEND for finding in list_findings(definition))
