"""No code outside the folders of a channel type names it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from persistence.channels.types import GATEWAYS, RELAYERS, TYPES

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("handlers", "persistence", "worker", "flows", "relayboard", "bench")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def names_in(tree: ast.Module) -> Iterator[str]:
    """What a module could name a type by: its texts but docstrings, and what it imports."""
    notes = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for each in ast.walk(tree):
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in notes:
            yield each.value
        elif isinstance(each, ast.alias):
            yield from each.name.lower().split(".")
        elif isinstance(each, ast.ImportFrom):
            yield from (each.module or "").split(".")


@pytest.mark.parametrize("name", sorted(TYPES))
def test_nothing_outside_the_folders_of_a_type_names_it(name: str) -> None:
    others = [path for path in MODULES if name not in path.parts]
    naming = [
        str(path.relative_to(ROOT))
        for path in others
        if any(each == name for each in names_in(ast.parse(path.read_text())))
    ]

    assert naming == []
    assert len(others) > 400


def test_each_type_has_the_folders_that_its_kind_needs() -> None:
    kinds = {name: (name in RELAYERS, name in GATEWAYS) for name in TYPES}

    assert set(kinds.values()) == {(True, False), (False, True)}
    for name in GATEWAYS:
        assert TYPES[name].callback_path
        assert [(ROOT / side / "channels" / name).is_dir() for side in ("worker", "handlers")] == [True, True]
