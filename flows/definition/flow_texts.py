"""The texts of a flow: those that are templates, and those that can be translated (flow format, actions)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flows.definition.action_types import fields_of
from flows.definition.fields import Field
from flows.definition.model import Action, Flow, Node, Place, Router
from flows.definition.raw_parts import OBJECT, read_text


@dataclass(frozen=True, slots=True)
class FlowText:
    """A text of a flow that is not empty, and where it is."""

    text: str
    place: Place


def list_templates(flow: Flow) -> Iterator[FlowText]:
    """Every template of a flow, each followed by its translations, in the order of the flow's parts."""
    for node in flow.nodes:
        yield from list_templates_of_node(flow, node)


def list_templates_of_node(flow: Flow, node: Node) -> Iterator[FlowText]:
    """Every template of a node, see `list_templates`."""
    for action in node.actions:
        yield from _list_templates_of_action(flow, node, action)
    if node.router:
        yield from _list_templates_of_router(flow, node, node.router)


def list_localizables(flow: Flow) -> Iterator[FlowText]:
    """Every text of a flow that translators get, in the flow's own language."""
    for node in flow.nodes:
        for action in node.actions:
            for name, each in fields_of(action.type).items():
                if each.is_translated and each.is_listed:
                    place = Place(node.uuid, action.uuid, name)
                    yield from _make_texts(read_texts(action.fields.get(name)), place)
        for case in node.router.cases if node.router else ():
            yield from _make_texts(case.arguments, Place(node.uuid, field="router.cases.arguments"))
        for category in node.router.categories if node.router else ():
            yield from _make_texts((category.name,), Place(node.uuid, field="router.categories.name"))


def list_languages(flow: Flow) -> list[str]:
    """The languages a flow is translated to, sorted."""
    return sorted(flow.localization)


def find_translation(flow: Flow, language: str, item_uuid: str, name: str) -> list[str]:
    """The texts of a property in a language; an empty list if it is not translated."""
    found: Any = flow.localization
    for key in (language, item_uuid, name):
        found = found.get(key) if isinstance(found, OBJECT) else None
    return read_texts(found)


def read_texts(value: object) -> list[str]:
    """The strings of a value that is a string, a list of strings, or an object with strings as values."""
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, OBJECT) else value if isinstance(value, (list, tuple)) else ()
    return [item for item in items if isinstance(item, str)]


def _make_texts(texts: Any, place: Place) -> Iterator[FlowText]:
    return (FlowText(text, place) for text in texts if text)


def _list_translations(flow: Flow, item_uuid: str, name: str, place: Place) -> Iterator[FlowText]:
    for language in list_languages(flow):
        texts = find_translation(flow, language, item_uuid, name)
        if texts:
            yield from _make_texts(texts, Place(place.node_uuid, place.action_uuid, place.field, language))


def _list_templates_of_action(flow: Flow, node: Node, action: Action) -> Iterator[FlowText]:
    for name, each in fields_of(action.type).items():
        place = Place(node.uuid, action.uuid, name)
        yield from _make_texts(_list_matches(each, action.fields.get(name)), place)
        if each.is_template:
            yield from _make_texts(read_texts(action.fields.get(name)), place)
        if each.is_template and each.is_translated:
            yield from _list_translations(flow, action.uuid, name, place)
    yield from _list_early_templating(flow, node, action)


def _list_matches(field: Field, value: object) -> Iterator[str]:
    """The templates in references."""
    for given in read_objects(value) if field.match else ():
        yield next((text for text in (read_text(given, match) for match in field.match) if text), "")


def _list_early_templating(flow: Flow, node: Node, action: Action) -> Iterator[FlowText]:
    """The variables of a channel's template before 13.5, when they were a part with its own UUID."""
    templating = action.fields.get("templating")
    if not isinstance(templating, OBJECT):
        return
    place = Place(node.uuid, action.uuid, "templating")
    parts = [(templating, "variables"), *((each, "params") for each in read_objects(templating.get("components")))]
    for part, name in parts:
        yield from _make_texts(read_texts(part.get(name)), place)
        yield from _list_translations(flow, read_text(part, "uuid"), name, place)


def _list_templates_of_router(flow: Flow, node: Node, router: Router) -> Iterator[FlowText]:
    yield from _make_texts([router.operand], Place(node.uuid, field="router.operand"))
    place = Place(node.uuid, field="router.cases.arguments")
    for case in router.cases:
        yield from _make_texts(case.arguments, place)
        yield from _list_translations(flow, case.uuid, "arguments", place)
    if router.wait:
        yield from _make_texts([router.wait.phone], Place(node.uuid, field="router.wait.phone"))
        if router.wait.pause:
            yield from _make_texts([router.wait.pause.until], Place(node.uuid, field="router.wait.pause.until"))


def read_objects(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list, or the value itself if it is an object; none for anything else."""
    given = [value] if isinstance(value, OBJECT) else value if isinstance(value, (list, tuple)) else ()
    return [item for item in given if isinstance(item, OBJECT)]
