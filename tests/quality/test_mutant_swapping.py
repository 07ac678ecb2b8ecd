"""How code that is loaded becomes that of a mutant."""

import importlib
import sys

import pytest

from tools.mutants.swapping import (
    CannotSwap,
    changed_functions,
    changed_values,
    find_functions,
    set_values,
    swap,
)

HELD = """
import dataclasses
import functools
import re

def kept(function):
    @functools.wraps(function)
    def wrapper(*given):
        return function(*given) + 1
    return wrapper

@kept
def double(number):
    return number * 2

class Counter:
    def next(self, number):
        return sum(each + 1 for each in [number])

LIMIT = 3
WORD = re.compile("a{2}")

@dataclasses.dataclass(frozen=True)
class Option:
    extra: bool = False

def next_of(number, step=1):
    return number + step
"""


@pytest.fixture
def held(tmp_path, monkeypatch):
    (tmp_path / "held_by_tests.py").write_text(HELD)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("held_by_tests")
    del sys.modules["held_by_tests"]


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("number * 2", "number * 3", (7, 3)),
        ("function(*given) + 1", "function(*given) - 1", (3, 3)),
        ("each + 1 for", "each - 1 for", (5, 1)),
    ],
)
def test_functions_methods_and_what_they_made_get_the_code_of_a_mutant(held, tmp_path, before, after, found):
    path = tmp_path / "held_by_tests.py"

    swap(changed_functions(path, HELD, HELD.replace(before, after)), find_functions(tmp_path))

    assert (held.double(2), held.Counter().next(2)) == found


def test_what_ran_at_the_import_is_not_swapped(held, tmp_path):
    with pytest.raises(CannotSwap):
        changed_functions(tmp_path / "held_by_tests.py", HELD, HELD.replace("LIMIT = 3", "LIMIT = 4"))


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("LIMIT = 3", "LIMIT = 4", lambda held: held.LIMIT == 4),
        ("a{2}", "a{3}", lambda held: not held.WORD.match("aa")),
        ("extra: bool = False", "extra: bool = True", lambda held: held.Option().extra),
        ("step=1", "step=2", lambda held: held.next_of(1) == 3),
        ("frozen=True", "frozen=False", lambda held: setattr(held.Option(), "extra", 1) is None),
    ],
)
def test_values_of_modules_classes_and_defaults_become_those_of_a_mutant(held, before, after, changed):
    changes = changed_values(held, HELD, HELD.replace(before, after))

    assert set_values(changes, ("held_by_tests",)) is True
    assert changed(held)


def test_a_mutant_that_cannot_be_imported_is_told_from_one_that_changes_nothing(held):
    with pytest.raises(ImportError):
        changed_values(held, HELD, HELD.replace("LIMIT = 3", "LIMIT = 3 / 0"))
    with pytest.raises(CannotSwap):
        changed_values(held, HELD, HELD)
