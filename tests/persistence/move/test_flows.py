"""What a move remembers of the triggers of the other server."""

from typing import Any

import pytest

from persistence.move.flows import _lost_trigger, _trigger


@pytest.mark.parametrize(
    ("report", "reference"),
    [
        ({"type": "keyword", "flow": "Registration", "keywords": ["join", "start"]}, "keyword Registration join start"),
        ({"type": "catch_all", "flow": "Help", "keywords": []}, "catch_all Help"),
        ({"type": "catch_all", "flow": "Help"}, "catch_all Help"),
        ({"type": "schedule", "flow": "x" * 100}, f"schedule {'x' * 71}"),
    ],
)
def test_a_trigger_is_known_by_its_type_flow_and_keywords(report: dict[str, Any], reference: str) -> None:
    kept = _trigger(report)

    assert (kept.reference, kept.record) == (reference, 0)


@pytest.mark.parametrize(
    ("skipped", "reference", "label", "why"),
    [
        (
            {"trigger_type": "K", "flow": {"name": "Join"}, "problem": "has no keyword"},
            "K Join",
            "trigger K of Join",
            "has no keyword",
        ),
        ({"trigger_type": "K", "flow": {"name": None}}, "K ", "trigger K of ", "cannot be used here"),
        ({"trigger_type": "K", "flow": None}, "K ", "trigger K of ", "cannot be used here"),
        ({}, "? ", "trigger ? of ", "cannot be used here"),
    ],
)
def test_a_trigger_that_is_not_taken_is_named_with_the_reason(
    skipped: dict[str, Any], reference: str, label: str, why: str
) -> None:
    kept = _lost_trigger(skipped)

    assert (kept.reference, kept.record, kept.name, kept.note) == (reference, None, label, why)
