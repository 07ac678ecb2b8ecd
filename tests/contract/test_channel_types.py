"""No code outside the folders of a channel type names it."""

import ast
import sys
from functools import cache
from pathlib import Path

import pytest

import channels
from channels import types
from channels.presets import list_presets, read_preset
from channels.types import DEFAULT_GATEWAY, GATEWAYS, RELAYERS, TYPES
from flows.urn_schemes import SCHEMES

ROOT = Path(__file__).resolve().parents[2]
WORDS = ("email",)
"""Names of types that are also those of fields."""
PACKAGES = ("channels", "handlers", "persistence", "worker", "flows", "relayboard", "bench")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


OF_PROVIDERS = {ROOT / "worker" / "push" / "fcm.py": {"android"}}
"""Words of what others have defined, and which are names of types by chance."""


@cache
def read_module(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The texts of a module but docstrings, and what it imports, with the names that it takes from other modules; of
    one that cannot name a type, nothing.
    """
    source = path.read_text()
    words = ("from channels import", *(word for name in TYPES for word in (f'{name}"', f"channels.{name}")))
    if not any(word in source for word in words):
        return frozenset(), frozenset()
    nodes = list(ast.walk(ast.parse(source)))
    notes = {id(each.value) for each in nodes if isinstance(each, ast.Expr)}
    constants = (each for each in nodes if isinstance(each, ast.Constant) and id(each) not in notes)
    found = set()
    for each in nodes:
        if isinstance(each, ast.Import):
            found |= {alias.name for alias in each.names}
        elif isinstance(each, ast.ImportFrom):
            found |= {each.module or "", *(f"{each.module}.{alias.name}" for alias in each.names)}
    return frozenset(each.value for each in constants if isinstance(each.value, str)), frozenset(found)


def texts_in(path: Path) -> frozenset[str]:
    return read_module(path)[0]


def imports_in(path: Path) -> frozenset[str]:
    return read_module(path)[1]


@pytest.mark.parametrize("name", sorted(TYPES))
def test_nothing_outside_the_folders_of_a_type_names_it(name: str) -> None:
    own = (ROOT / "channels" / name, ROOT / "worker" / "channels" / name)
    others = [path for path in MODULES if path.parent not in own]
    importing = [
        path for path in others if any(f"{each}.".startswith(f"channels.{name}.") for each in imports_in(path))
    ]
    # A scheme of URNs has the same name as the type that serves it, and is known everywhere; so are words of the API.
    naming = (
        []
        if name in {*SCHEMES, *WORDS}
        else [path for path in others if name in texts_in(path) - OF_PROVIDERS.get(path, set())]
    )

    assert [str(path.relative_to(ROOT)) for path in {*importing, *naming}] == []
    assert len(others) > 400


def test_the_usual_gateway_is_the_first_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "__init__.py").write_text(
        "from channels.declaration import ChannelType\nTYPE = ChannelType('acme', ('tel',))\n"
    )
    monkeypatch.setattr(channels, "__path__", [*channels.__path__, str(tmp_path)])
    monkeypatch.setitem(sys.modules, "channels.acme", None)
    monkeypatch.delitem(sys.modules, "channels.acme")

    declared = types._declared()

    assert [*declared] == [*RELAYERS, DEFAULT_GATEWAY, *sorted({*GATEWAYS[1:], "acme"})]
    assert declared[DEFAULT_GATEWAY].is_default


def test_each_type_has_what_its_kind_needs() -> None:
    kinds = {name: (name in RELAYERS, name in GATEWAYS) for name in TYPES}
    codes = [TYPES[name].callback_path for name in GATEWAYS]

    assert set(kinds.values()) == {(True, False), (False, True)}
    assert len(set(codes)) == len(codes)
    assert [name for name, each in TYPES.items() if not each.title] == []
    assert [name for name in GATEWAYS if not TYPES[name].schemes] == []


@pytest.mark.parametrize("name", [*GATEWAYS, *list_presets()])
def test_a_form_asks_for_six_things_at_most_beside_name_and_address(name: str) -> None:
    asked = (
        [each for each in TYPES[name].settings if not each.is_advanced] if name in TYPES else read_preset(name).fields
    )

    assert len(asked) <= 6
