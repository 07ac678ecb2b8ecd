"""The texts of a flow: those that are templates, and those that can be translated (flow format, actions)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from flows.definition.model import Action, Flow, Node, Router
from flows.definition.places import Place
from flows.definition.raw_parts import read_text


@dataclass(frozen=True, slots=True)
class Property:
    """A property of actions of one type. A text, a list of texts, or an object with texts as values."""

    name: str
    is_template: bool = True
    is_translated: bool = False
    is_listed: bool = True
    """Whether translators get it; what fills the blanks of a channel's template is translated with that template."""


_RECIPIENTS = (Property("contact_query"), Property("legacy_vars"))
_MESSAGE = (
    Property("text", is_translated=True),
    Property("attachments", is_translated=True),
    Property("quick_replies", is_translated=True),
    Property("template_variables", is_translated=True, is_listed=False),
)
PROPERTIES: Mapping[str, tuple[Property, ...]] = {
    "add_contact_urn": (Property("path"),),
    "call_classifier": (Property("input"),),
    "call_llm": (Property("instructions"), Property("input")),
    "call_webhook": (Property("url"), Property("headers"), Property("body")),
    "open_ticket": (Property("subject"), Property("body"), Property("note")),
    "play_audio": (Property("audio_url", is_translated=True),),
    "say_msg": (
        Property("text", is_translated=True),
        Property("audio_url", is_template=False, is_translated=True),
    ),
    "send_broadcast": (*_RECIPIENTS, *_MESSAGE),
    "send_email": (
        Property("addresses"),
        Property("subject", is_translated=True),
        Property("body", is_translated=True),
    ),
    "send_msg": _MESSAGE,
    "set_contact_field": (Property("value"),),
    "set_contact_language": (Property("language"),),
    "set_contact_name": (Property("name"),),
    "set_contact_timezone": (Property("timezone"),),
    "set_run_local": (Property("value"),),
    "set_run_result": (Property("value"), Property("category", is_template=False, is_translated=True)),
    "start_session": _RECIPIENTS,
}
# Of the properties that are translated, those that are lists; all others are single texts.
LISTS = frozenset({"arguments", "attachments", "quick_replies", "template_variables"})
# Lists of references, each of which may look something up by a template.
_MATCHED = ("groups", "labels")


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
            for each in PROPERTIES.get(action.type, ()):
                if each.is_translated and each.is_listed:
                    place = Place(node.uuid, action.uuid, each.name)
                    yield from _make_texts(read_texts(action.fields.get(each.name)), place)
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
        found = found.get(key) if isinstance(found, Mapping) else None
    return read_texts(found)


def read_texts(value: Any) -> list[str]:
    """The texts of a value that is a text, a list of texts, or an object with texts as values."""
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return [item for item in items if isinstance(item, str)]


def _make_texts(texts: Any, place: Place) -> Iterator[FlowText]:
    return (FlowText(text, place) for text in texts if text)


def _list_translations(flow: Flow, item_uuid: str, name: str, place: Place) -> Iterator[FlowText]:
    for language in list_languages(flow):
        texts = find_translation(flow, language, item_uuid, name)
        if texts:
            yield from _make_texts(texts, replace(place, language=language))


def _list_templates_of_action(flow: Flow, node: Node, action: Action) -> Iterator[FlowText]:
    yield from _list_matches(node, action)
    for each in PROPERTIES.get(action.type, ()):
        place = Place(node.uuid, action.uuid, each.name)
        if each.is_template:
            yield from _make_texts(read_texts(action.fields.get(each.name)), place)
        if each.is_template and each.is_translated:
            yield from _list_translations(flow, action.uuid, each.name, place)
    yield from _list_early_templating(flow, node, action)


def _list_matches(node: Node, action: Action) -> Iterator[FlowText]:
    for name in _MATCHED:
        for reference in read_objects(action.fields.get(name)):
            yield from _make_texts([read_text(reference, "name_match")], Place(node.uuid, action.uuid, name))
    assignee = action.fields.get("assignee")
    if isinstance(assignee, Mapping):
        match = read_text(assignee, "email_match") or read_text(assignee, "email")
        yield from _make_texts([match], Place(node.uuid, action.uuid, "assignee"))


def _list_early_templating(flow: Flow, node: Node, action: Action) -> Iterator[FlowText]:
    """What filled the blanks of a channel's template before 13.5, when it was a part with a UUID of its own."""
    templating = action.fields.get("templating")
    if not isinstance(templating, Mapping):
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


def read_objects(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a list; an empty list for anything else."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, (list, tuple)) else []
