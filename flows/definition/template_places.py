"""Where the templates of a definition are, in all versions since 13.0 (flow format, actions and routers)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from flows.definition.raw_parts import JsonObject, list_actions, list_cases, list_objects, list_routers
from flows.definition.raw_translations import find_translation, list_translations, set_translation

# Properties that are a template, a list of templates or an object with templates as values, by type of action.
PROPERTIES = {
    "add_contact_urn": ("path",),
    "call_classifier": ("input",),
    "call_llm": ("input", "instructions"),
    "call_webhook": ("body", "headers", "url"),
    "open_ticket": ("body", "note", "subject"),
    "play_audio": ("audio_url",),
    "say_msg": ("text",),
    "send_broadcast": ("attachments", "contact_query", "legacy_vars", "quick_replies", "text"),
    "send_email": ("addresses", "body", "subject"),
    "send_msg": ("attachments", "quick_replies", "template_variables", "text"),
    "set_contact_field": ("value",),
    "set_contact_language": ("language",),
    "set_contact_name": ("name",),
    "set_contact_timezone": ("timezone",),
    "set_run_local": ("value",),
    "set_run_result": ("value",),
    "start_session": ("contact_query", "legacy_vars"),
}
# References that look something up by a template.
MATCHES = (("groups", "name_match"), ("labels", "name_match"))


def rewrite_templates(flow: JsonObject, change: Callable[[str], str]) -> None:
    """Puts `change` of every template in its place, in the definition and in its translations."""
    for part, name in _find_places(flow):
        if name in part:
            part[name] = _rewrite(part[name], change)
        for _, items in list_translations(flow):
            texts = find_translation(items, part, name)
            if texts is not None:
                set_translation(items, part, name, _rewrite(texts, change))


def _rewrite(value: Any, change: Callable[[str], str]) -> Any:
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
    for case in list_cases(flow):
        yield case, "arguments"


def _find_places_of_action(action: JsonObject) -> Iterator[tuple[JsonObject, str]]:
    kind = action.get("type")
    for name in PROPERTIES.get(kind, ()) if isinstance(kind, str) else ():
        yield action, name
    for references, name in MATCHES:
        for reference in list_objects(action.get(references)):
            yield reference, name
    assignee, templating = action.get("assignee"), action.get("templating")
    if isinstance(assignee, dict):
        yield assignee, "email_match"
    if isinstance(templating, dict):
        yield templating, "variables"
        for component in list_objects(templating.get("components")):
            yield component, "params"
