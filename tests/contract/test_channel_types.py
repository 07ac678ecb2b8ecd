"""No code outside the folders of a channel type names it."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from persistence.channels import types
from persistence.channels.types import DEFAULT_GATEWAY, GATEWAYS, RELAYERS, TYPES

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


def test_the_usual_gateway_is_the_first_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "__init__.py").write_text(
        "from persistence.channels.types import ChannelType\nTYPE = ChannelType('acme', ('tel',))\n"
    )
    monkeypatch.setattr(types, "__path__", [*types.__path__, str(tmp_path)])
    monkeypatch.setitem(sys.modules, f"{types.__name__}.acme", None)
    monkeypatch.delitem(sys.modules, f"{types.__name__}.acme")

    declared = types._declared()

    assert [*declared] == [*RELAYERS, DEFAULT_GATEWAY, "acme"]
    assert declared[DEFAULT_GATEWAY].is_default


def test_each_type_has_the_folders_that_its_kind_needs() -> None:
    kinds = {name: (name in RELAYERS, name in GATEWAYS) for name in TYPES}

    assert set(kinds.values()) == {(True, False), (False, True)}
    for name in GATEWAYS:
        assert TYPES[name].callback_path
        assert [(ROOT / side / "channels" / name).is_dir() for side in ("worker", "handlers")] == [True, True]
