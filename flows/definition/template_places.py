"""Changes templates of an unchecked definition of any version since 13.0 (flow format, migrations)."""

from collections.abc import Callable, Iterator
from typing import Any

from flows.definition.action_types import fields_of
from flows.definition.raw_parts import (
    JsonObject,
    find_translation,
    list_actions,
    list_cases,
    list_objects,
    list_routers,
    list_translations,
    read_text,
    set_translation,
)


def rewrite_templates(flow: JsonObject, change: Callable[[str], str]) -> None:
    """Replaces every template by the result of `change`, in the definition and in its translations."""
    translated: set[tuple[str, str]] = set()
    for part, name in _find_places(flow):
        if name in part:
            part[name] = _rewrite(part[name], change)
        # There are definitions in which several cases share a UUID, and so their translations.
        place = (read_text(part, "uuid"), name)
        if place not in translated:
            translated.add(place)
            _rewrite_translations(flow, part, name, change)


def _rewrite_translations(flow: JsonObject, part: JsonObject, name: str, change: Callable[[str], str]) -> None:
    for _, items in list_translations(flow):
        texts = find_translation(items, part, name)
        if texts is not None:
            set_translation(items, part, name, _rewrite(texts, change))


def _rewrite(value: object, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [change(item) if isinstance(item, str) else item for item in value]
    if isinstance(value, dict):
        return {key: change(item) if isinstance(item, str) else item for key, item in value.items()}
    return value


def _find_places(flow: JsonObject) -> Iterator[tuple[JsonObject, str]]:
    for action in list_actions(flow):
        yield from _find_places_of_action(action)
    for router in list_routers(flow):
        yield router, "operand"
        wait = router.get("wait")
        if isinstance(wait, dict):
            yield wait, "phone"
            if isinstance(wait.get("pause"), dict):
                yield wait["pause"], "until"
    for case in list_cases(flow):
        yield case, "arguments"


def _find_places_of_action(action: JsonObject) -> Iterator[tuple[JsonObject, str]]:
    for name, each in fields_of(action.get("type")).items():
        if each.is_template:
            yield action, name
        value = action.get(name)
        for reference in list_objects([value] if isinstance(value, dict) else value) if each.match else ():
            yield reference, each.match[0]
    templating = action.get("templating")
    if isinstance(templating, dict):
        yield templating, "variables"
        for component in list_objects(templating.get("components")):
            yield component, "params"
