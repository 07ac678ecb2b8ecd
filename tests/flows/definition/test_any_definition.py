"""Loading and migrating any input gives a flow or a DefinitionError."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.definition import DefinitionError, load, migrate
from flows.definition.legacy.templates import TemplateOptions, migrate_template
from tests.flows.definition.specimens import EARLY_FLOW, LEGACY_FLOW

DEPTH = 20_000
TEMPLATES = st.text(alphabet='@(), "+-*^<>&=.0123abc\\xéflowcontactdate', max_size=30)
WORDS = st.sampled_from(["eng", "13.0.0", "14.1", "@flow.x", "@(date.today + 1)", "true", "reply", "expression", "msg"])
VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | WORDS | TEMPLATES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | WORDS, inner, max_size=3),
    max_leaves=8,
)


def list_paths(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, item in items:
        yield from list_paths(item, (*path, key))


def put(definition: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(definition)
    part = changed
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return changed


def assert_loads_or_refuses(definition: Any) -> None:
    before = copy.deepcopy(definition)
    try:
        migrated = migrate(definition)
    except DefinitionError:
        with pytest.raises(DefinitionError):
            load(definition)
        return
    assert repr(definition) == repr(before)
    assert repr(migrate(definition)) == repr(migrated)
    try:
        flow = load(definition)
    except DefinitionError:
        return
    assert flow.spec_version == migrated["spec_version"]


EARLY_PATHS, LEGACY_PATHS = (list(list_paths(flow)) for flow in (EARLY_FLOW, LEGACY_FLOW))


@given(definition=VALUES)
def test_whatever_is_given_loads_or_is_refused(definition: Any) -> None:
    assert_loads_or_refuses(definition)


@given(path=st.sampled_from(EARLY_PATHS), value=VALUES)
def test_a_definition_with_anything_in_any_place_loads_or_is_refused(path: tuple[Any, ...], value: Any) -> None:
    assert_loads_or_refuses(put(EARLY_FLOW, path, value))


@given(path=st.sampled_from(LEGACY_PATHS), value=VALUES)
def test_an_old_definition_with_anything_in_any_place_loads_or_is_refused(path: tuple[Any, ...], value: Any) -> None:
    assert_loads_or_refuses(put(LEGACY_FLOW, path, value))


@pytest.mark.parametrize("path", EARLY_PATHS, ids=str)
def test_a_definition_as_deep_as_can_be_does_not_exhaust_the_stack(path: tuple[Any, ...]) -> None:
    assert_stands(put(EARLY_FLOW, path, make_deep_list()))


@pytest.mark.parametrize("path", LEGACY_PATHS, ids=str)
def test_an_old_definition_as_deep_as_can_be_does_not_exhaust_the_stack(path: tuple[Any, ...]) -> None:
    assert_stands(put(LEGACY_FLOW, path, make_deep_list()))


def make_deep_list() -> Any:
    deep: Any = []
    for _ in range(DEPTH):
        deep = [deep]
    return deep


def assert_stands(definition: Any) -> None:
    with contextlib.suppress(DefinitionError):
        load(definition)


@given(template=TEMPLATES, raw_dates=st.booleans(), default_to_self=st.booleans())
def test_an_old_template_becomes_one_that_migrates_or_stays(
    template: str, raw_dates: bool, default_to_self: bool
) -> None:
    options = TemplateOptions(default_to_self=default_to_self, url_encode=raw_dates, raw_dates=raw_dates)

    rewriting = migrate_template(template, options)

    assert "@" in template or rewriting.template == template


@pytest.mark.parametrize(
    "expression",
    [
        "(" * DEPTH,
        "-" * DEPTH + "1",
        "1" + " + 1" * DEPTH,
        "ABS(" * DEPTH + ")" * DEPTH,
        "now()" + " + TIME(HOUR(now()" * 90 + ", 0, 0))" * 90,
        '"' * DEPTH,
        '"a" & ' * DEPTH,
    ],
)
def test_no_old_expression_takes_the_stack_or_all_memory(expression: str) -> None:
    rewriting = migrate_template(f"@({expression})", TemplateOptions(default_to_self=True))

    assert len(rewriting.template) < 500_000
