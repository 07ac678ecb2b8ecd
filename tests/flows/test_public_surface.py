"""What `flows` offers to other programs."""

from __future__ import annotations

import doctest
import subprocess
import sys

import pytest

import flows
from flows import templates
from flows.definition import issues, reading
from flows.environment import SystemClock
from flows.queries import parser


@pytest.mark.parametrize("name", flows.__all__)
def test_every_public_name_can_be_imported_and_says_what_it_is(name: str) -> None:
    assert getattr(flows, name).__doc__


def test_the_public_functions_are_the_promised_ones() -> None:
    assert {"load", "start", "resume", "evaluate", "parse_query", "inspect"} <= set(flows.__all__)


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'unheard_of'"):
        _ = flows.unheard_of  # type: ignore[attr-defined]


@pytest.mark.parametrize("module", [flows, templates, reading, issues, parser])
def test_the_examples_in_the_documentation_hold(module: object) -> None:
    names = {name: getattr(flows, name) for name in flows.__all__}
    outcome = doctest.testmod(module, extraglobs=names)  # type: ignore[arg-type]
    assert outcome.attempted
    assert not outcome.failed


def test_one_corner_can_be_used_without_the_engine() -> None:
    code = "import flows.urns, sys; print('flows.engine' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "False"


def test_defaults_of_objects_stand_for_them() -> None:
    context = {"contact": {"__default__": "Bob", "age": 7}}
    result = flows.evaluate("@contact is @contact.age", context, clock=SystemClock())
    assert result.text == "Bob is 7"


def test_long_texts_are_cut_to_the_limit() -> None:
    assert flows.evaluate("@x", {"x": "abcdefgh"}, clock=SystemClock(), limit=6).text == "abc..."
