"""The forms of the flow editor: every type of the engine has one, and nothing is lost in them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from flows.definition.action_types import action_types
from flows.definition.reading import read_flow
from flows.translation_files import EXPRESSIONS, FUZZY, OUTDATED, UNKNOWN
from handlers.asgi.console import FOLDER
from persistence.definitions.translating import CHANGED, NEW
from persistence.flows.translation_sheets import FORMATS
from tests.console.test_flow_operations import EDITOR, run_on_known_definitions
from tests.console.test_texts import LANGUAGES, PLACEHOLDER, texts
from tools.console.flow_parts import list_parts

OPERATIONS = Path(__file__).with_name("flow_forms.mjs")
FORMS = EDITOR / "forms"
FORM_TEXT = re.compile(r'"(flow_(?:form|change)\.[a-z_]+)"')


def test_what_a_form_opens_and_saves_is_kept_and_what_it_makes_of_every_type_can_be_read(tmp_path: Path) -> None:
    known, outcome = run_on_known_definitions(OPERATIONS, tmp_path)

    assert outcome["definitions"] == len(known)
    assert outcome["fields"] > outcome["actions"] > 0
    assert set(outcome["shown"]) == set(action_types())
    assert len([read_flow(definition) for definition in outcome["made"]]) > len(action_types())


def words_of_the_engine() -> dict[str, set[str]]:
    """The words that forms look up, by family."""
    parts = list_parts()
    actions: dict[str, Any] = parts["actions"]
    fields = [(name, field) for each in actions.values() for name, field in each["fields"].items()]
    return {
        "flow_palette": set(parts["palette"]),
        "flow_split": {"none", *parts["routers"], *parts["waits"], *parts["pauses"]},
        "flow_tests": {"text", "number", "date", "place", "other"},
        "flow_test": set(parts["tests"]),
        "flow_function": set(parts["functions"]),
        "flow_file": set(FORMATS),
        "flow_text_result": {NEW, CHANGED, UNKNOWN, OUTDATED, EXPRESSIONS, FUZZY},
        "flow_argument": {argument["name"] for each in parts["tests"].values() for argument in each} | {"more"},
        "flow_hint": set(parts["hints"]),
        "flow_unit": {"day", "hour", "minute", "second"},
        "flow_property": {"name", "language", "status", "channel"},
        "flow_operation": set(actions["set_run_local"]["fields"]["operation"]["choices"]),
        "flow_flag": {flag for _, field in fields if field["kind"] == "flags" for flag in field["choices"]},
        "flow_field": {name for name, field in fields if field["kind"] != "json"} | {*parts["dial"], "phone"},
    }


def test_every_word_of_the_forms_has_a_text_and_every_text_is_looked_up() -> None:
    told: dict[str, str] = json.loads((FORMS / "texts" / "en.json").read_text())
    words = {f"{family}.{word}" for family, each in words_of_the_engine().items() for word in each}
    used = {key for path in FORMS.glob("*.js") for key in FORM_TEXT.findall(path.read_text())}
    fields = {f"{name}-{field}" for name, each in list_parts()["actions"].items() for field in each["fields"]}
    of_one = {f"{family}.{each}" for family in ("flow_field", "flow_field_help") for each in fields}
    of_one |= {f"flow_field_help.{word}" for word in words_of_the_engine()["flow_field"]}

    assert (words | used) - set(told) == set()
    assert set(told) - words - used - of_one == set()
    assert {f"action.{name}" for name in action_types()} <= set(texts("en"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_forms_speak_every_language(language: str) -> None:
    folder = FOLDER / "flows" / "editor" / "forms" / "texts"
    english = json.loads((folder / "en.json").read_text())
    told = json.loads((folder / f"{language}.json").read_text())

    assert set(told) == set(english)
    assert all(each.strip() for each in told.values())
    places = {key: sorted(PLACEHOLDER.findall(text)) for key, text in english.items()}
    assert {key for key, text in told.items() if sorted(PLACEHOLDER.findall(text)) != places[key]} == set()
