"""The declared types of events are the shapes that sessions give; `conftest` checks each event of all tests here."""

from __future__ import annotations

from typing import get_args

import pytest

from flows.events import AnyEvent
from tests.flows.event_types import TYPES, list_mismatches

FAILURE = {"type": "failure", "created_on": "2026-03-02T08:00:00.000000Z", "uuid": "x", "text": "No"}


def test_each_type_of_event_has_one_class() -> None:
    assert len(TYPES) == len(get_args(AnyEvent))


def test_an_event_as_declared_matches() -> None:
    assert list_mismatches(FAILURE) == []


@pytest.mark.parametrize(
    ("change", "mismatch"),
    [
        ({"type": "explosion"}, "there is no type explosion"),
        ({"text": 7}, "failure.text is 7, no str"),
        ({"loud": True}, "failure.loud is not declared"),
        ({"extra": {"size": 7}}, "failure.extra{} is 7, no str"),
    ],
)
def test_an_event_of_another_shape_is_told(change: dict[str, object], mismatch: str) -> None:
    assert list_mismatches({**FAILURE, **change}) == [mismatch]


def test_a_missing_field_is_told() -> None:
    assert list_mismatches({"type": "failure", "created_on": ""}) == ["failure.text is missing"]
