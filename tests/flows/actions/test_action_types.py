"""A type of actions is one file: its declaration is complete, and nothing else lists types."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

import flows
from flows.asset_kinds import KINDS
from flows.definition import Action
from flows.definition.action_types import ActionType, action_types, draw_action

ROOT = Path(flows.__file__).parent.parent
FOLDER = ROOT / "flows" / "actions"
TYPES = action_types()
# Files outside the folder that name types, and why.
OTHERS = {
    "flows/definition/issues.py": "the format warns of old variables in this type only",
    "flows/definition/steps_13.py": "migrations: what the types were at a version of the past",
    "flows/definition/steps_14.py": "migrations: what the types were at a version of the past",
    "flows/definition/legacy/actions.py": "what actions of before version 13 become",
    "flows/definition/legacy/rule_sets.py": "what rule sets of before version 13 become",
    "relayboard/commands/demo.py": "a flow of the demo, as an export would have it",
    "persistence/flows/assets.py": "the flows that a flow enters are looked through, too",
    "persistence/move/flows.py": "what is said of flows that call a classifier that is not here",
    "persistence/definitions/importing.py": "resthooks are made for flows that are imported",
    "persistence/flows/writes.py": "the words of generation 1 for nodes, to which none are added",
}


def list_types_named(path: Path) -> Iterator[str]:
    text = path.read_text()
    if not any(name in text for name in TYPES):  # most files: parsing them takes a hundred times longer
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in TYPES:
            yield node.value


def test_every_file_of_the_folder_declares_the_type_it_is_named_after() -> None:
    assert sorted(TYPES) == sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")
    assert [each.name for each in TYPES.values()] == list(TYPES)


@pytest.mark.parametrize("kind", TYPES.values(), ids=list(TYPES))
def test_a_declaration_is_complete(kind: ActionType) -> None:
    assert kind.run.__doc__
    assert kind.run.__module__ == f"flows.actions.{kind.name}"
    assert kind.fields
    assert kind.allowed_in
    assert {name for _, name, _, _ in Formatter().parse(kind.drawn) if name} <= set(kind.fields)
    if kind.category_field or kind.result_field != "result_name":
        assert {kind.category_field, kind.result_field} <= set(kind.fields)


@pytest.mark.parametrize("kind", TYPES.values(), ids=list(TYPES))
def test_what_a_type_refers_to_is_a_kind_of_asset_that_a_workspace_has(kind: ActionType) -> None:
    known = {"", "contact", "flow", *KINDS}
    assert {each.refers_to for each in kind.fields.values()} <= known


@pytest.mark.parametrize("kind", TYPES.values(), ids=list(TYPES))
def test_what_is_translated_or_matched_is_a_text_or_refers_to_something(kind: ActionType) -> None:
    for each in kind.fields.values():
        assert not each.match or each.refers_to
        assert not each.is_listed or each.is_translated
        assert not (each.refers_to and (each.is_template or each.is_translated))


@pytest.mark.parametrize("folder", ["flows", "worker", "relayboard", "persistence", "handlers"])
def test_nothing_outside_the_folder_names_a_type_but_for_a_reason(folder: str) -> None:
    paths = (path for path in (ROOT / folder).rglob("*.py") if FOLDER not in path.parents)
    found = {path.relative_to(ROOT).as_posix() for path in paths if any(list_types_named(path))}
    assert found == {path for path in OTHERS if path.startswith(f"{folder}/")}


@pytest.mark.parametrize("kind", TYPES.values(), ids=list(TYPES))
def test_a_type_does_not_lean_on_another(kind: ActionType) -> None:
    assert not any(name != kind.name for name in list_types_named(FOLDER / f"{kind.name}.py"))


def test_actions_are_drawn_with_the_names_of_what_they_refer_to() -> None:
    groups = [{"uuid": "x", "name": "Farmers"}, {"name_match": "@fields.town"}]
    field = {"key": "age", "name": "Age"}
    drawn = {
        "Add to Farmers, @fields.town": ("add_contact_groups", {"groups": groups}),
        "Remove from all groups": ("remove_contact_groups", {"all_groups": True}),
        "Set Age to 3": ("set_contact_field", {"field": field, "value": "3"}),
        "Set channel to none": ("set_contact_channel", {}),
        "Open ticket": ("open_ticket", {"topic": None}),
        "Increment local n": ("set_run_local", {"local": "n", "operation": "increment"}),
        "POST http://example.com/{a}": ("call_webhook", {"method": "POST", "url": "http://example.com/{a}"}),
        "tell a story": ("tell_a_story", {}),
    }
    assert {draw_action(Action(kind, "", fields)): (kind, fields) for kind, fields in drawn.values()} == drawn
