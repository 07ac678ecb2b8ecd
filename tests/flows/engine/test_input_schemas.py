"""Schemas of plain data."""

from __future__ import annotations

import math
from typing import Any

import pytest

from flows.engine.input_schemas import ANYTHING, NUMBER, EachValue, Required, find_mismatch, is_plain
from flows.expressions.conversions import VALUE_NESTING_LIMIT

SCHEMA = {"name": Required(str), "ages": [NUMBER], "tags": EachValue(str), "inner": {"extra": ANYTHING}, "is_new": bool}


@pytest.mark.parametrize(
    "value",
    [
        {"name": "a"},
        {"name": "a", "ages": None, "inner": {}, "is_new": True, "unheard_of": object()},
        {"name": "a", "ages": [1, 2.5, None], "tags": {"x": "y"}, "inner": {"extra": [{"a": [None, 1]}]}},
    ],
)
def test_what_fits_has_no_mismatch(value: Any) -> None:
    assert find_mismatch(value, SCHEMA) == ""


@pytest.mark.parametrize(
    ("value", "mismatch"),
    [
        ([], "value"),
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": "a", "ages": [1, "2"]}, "ages[1]"),
        ({"name": "a", "ages": [True]}, "ages[0]"),
        ({"name": "a", "ages": [math.inf]}, "ages[0]"),
        ({"name": "a", "tags": {"x": 1}}, "tags.x"),
        ({"name": "a", "tags": {1: "x"}}, "tags.1"),
        ({"name": "a", "inner": {"extra": [math.nan]}}, "inner.extra"),
        ({"name": "a", "inner": {"extra": object()}}, "inner.extra"),
        ({"name": "a", "is_new": 1}, "is_new"),
    ],
)
def test_the_first_part_that_does_not_fit_is_named(value: Any, mismatch: str) -> None:
    assert find_mismatch(value, SCHEMA) == mismatch


def test_of_several_forms_one_has_to_fit_and_the_last_one_tells_what_does_not() -> None:
    forms = tuple({name: Required(str), "n": [NUMBER]} for name in "abc")

    assert [find_mismatch({"x": {name: "y"}}, {"x": forms}) for name in "abcd"] == ["", "", "", "x.c"]
    assert find_mismatch({"x": {"c": "y", "n": [1, "2"]}}, {"x": forms}) == "x.n[1]"


@pytest.mark.parametrize(("depth", "is_fine"), [(VALUE_NESTING_LIMIT, True), (VALUE_NESTING_LIMIT + 1, False)])
def test_data_is_nested_as_deeply_as_values_may_be(depth: int, is_fine: bool) -> None:
    nested: Any = 1
    for _ in range(depth):
        nested = [nested]
    assert is_plain(nested) is is_fine


def test_data_that_is_nested_without_end_does_not_fit() -> None:
    nested: Any = []
    for _ in range(100_000):
        nested = [nested]
    assert find_mismatch({"name": "a", "inner": {"extra": nested}}, SCHEMA) == "inner.extra"
