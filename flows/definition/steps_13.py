"""The steps from version 13.0 to 13.6.1 (flow format, versions and migrations)."""

import re
from dataclasses import replace
from typing import Any

from flows.definition.raw_parts import (
    JsonObject,
    NewUuid,
    drop_translation,
    find_translation,
    list_actions,
    list_objects,
    list_routers,
    list_translations,
    read_text,
    set_translation,
)
from flows.definition.template_places import rewrite_templates
from flows.expressions.paths import rewrite_template
from flows.expressions.syntax import BracketLookup, ContextReference, DotLookup, Expression, TextLiteral
from flows.words import snakify

RESULT_NAME_LENGTH = 64
CATEGORY_NAME_LENGTH = 36
UNDETERMINED = "und"
_LANGUAGE = re.compile(r"[A-Za-z]{3}")


def is_language(text: object) -> bool:
    """Whether a value is a language code: three letters."""
    return isinstance(text, str) and _LANGUAGE.fullmatch(text) is not None


def name_templating(flow: JsonObject, new_uuid: NewUuid) -> None:
    """To 13.1: the variables of a message template can be translated, so they get a UUID."""
    for action in list_actions(flow, "send_msg"):
        if isinstance(action.get("templating"), dict):
            action["templating"]["uuid"] = new_uuid()


def name_language(flow: JsonObject, new_uuid: NewUuid) -> None:
    """To 13.2: a base language that is not a language code becomes undetermined, and can then have no translation."""
    if is_language(flow.get("language")):
        return
    flow["language"] = UNDETERMINED
    if isinstance(flow.get("localization"), dict):
        flow["localization"].pop(UNDETERMINED, None)


def look_up_webhook_json(flow: JsonObject, new_uuid: NewUuid) -> None:
    """To 13.3: the former `@webhook` is now `@webhook.json`."""

    def change(expression: Expression) -> Expression:
        is_webhook = isinstance(expression, ContextReference) and expression.name == "webhook"
        return DotLookup(expression, "json") if is_webhook else expression

    rewrite_templates(flow, lambda template: rewrite_template(template, change, ["webhook"]).template)


def split_templating(flow: JsonObject, new_uuid: NewUuid) -> None:
    """To 13.4: the variables of a message template belong to its components; so far there was only the body."""
    for action in list_actions(flow, "send_msg"):
        templating = action.get("templating")
        if not isinstance(templating, dict):
            continue
        variables = templating.get("variables")
        body = {"uuid": new_uuid(), "name": "body", "params": variables if isinstance(variables, list) else []}
        for _, items in list_translations(flow):
            translated = find_translation(items, templating, "variables")
            if translated is not None:
                set_translation(items, body, "params", translated)
                drop_translation(items, templating, "variables")
        action["templating"] = {
            **{key: value for key, value in templating.items() if key not in ("uuid", "variables")},
            "components": [body],
        }


def merge_templating(flow: JsonObject, new_uuid: NewUuid) -> None:
    """To 13.5: a message has a template and one list of variables for all its components."""
    for action in list_actions(flow, "send_msg"):
        templating = action.get("templating")
        if not isinstance(templating, dict):
            continue
        components = list_objects(templating.get("components"))
        action["template"] = templating.get("template")
        action["template_variables"] = [text for component in components for text in _read_params(component)]
        del action["templating"]
        for _, items in list_translations(flow):
            _merge_translated_params(items, action, components)


def _merge_translated_params(items: JsonObject, action: JsonObject, components: list[JsonObject]) -> None:
    translated = [find_translation(items, component, "params") for component in components]
    if all(texts is None for texts in translated):
        return
    merged: list[Any] = []
    for component, texts in zip(components, translated, strict=True):
        merged += _read_params(component) if texts is None else texts
        drop_translation(items, component, "params")
    set_translation(items, action, "template_variables", merged)


def _read_params(component: JsonObject) -> list[str]:
    params = component.get("params")
    return [text if isinstance(text, str) else "" for text in params] if isinstance(params, list) else []


def shorten_names(flow: JsonObject, new_uuid: NewUuid) -> None:
    """To 13.6.0: names of results and categories are cut to what is allowed."""
    for action in list_actions(flow):
        if action.get("type") == "set_run_result":
            _shorten(action, "name", RESULT_NAME_LENGTH)
            _shorten(action, "category", CATEGORY_NAME_LENGTH)
        _shorten(action, "result_name", RESULT_NAME_LENGTH)
    for router in list_routers(flow):
        _shorten(router, "result_name", RESULT_NAME_LENGTH)
        for category in list_objects(router.get("categories")):
            _shorten(category, "name", CATEGORY_NAME_LENGTH)


def _shorten(part: JsonObject, key: str, length: int) -> None:
    text = read_text(part, key)
    if len(text) > length:
        part[key] = text[:length].strip()


def shorten_result_lookups(flow: JsonObject, new_uuid: NewUuid) -> None:
    """To 13.6.1: look-ups of results follow their names, which have been cut."""
    names = [read_text(action, "name") for action in list_actions(flow, "set_run_result")]
    names += [read_text(part, "result_name") for part in (*list_actions(flow), *list_routers(flow))]
    known = {snakify(name) for name in names if name}

    def shorten(key: str) -> str:
        cut = key[:RESULT_NAME_LENGTH]
        trimmed = cut.rstrip("_")
        # If a name was cut after a space, its key has lost the underscore for that space.
        return trimmed if cut.lower() not in known and trimmed.lower() in known else cut

    def change(expression: Expression) -> Expression:
        if isinstance(expression, DotLookup) and _is_results(expression.container):
            key = shorten(expression.name)
            return expression if key == expression.name else replace(expression, name=key)
        if not isinstance(expression, BracketLookup) or not _is_results(expression.container):
            return expression
        if not isinstance(expression.key, TextLiteral) or len(expression.key.value) <= RESULT_NAME_LENGTH:
            return expression
        return replace(expression, key=TextLiteral(shorten(expression.key.value)))

    rewrite_templates(flow, lambda template: rewrite_template(template, change, ["results"]).template)


def _is_results(expression: Expression) -> bool:
    return isinstance(expression, ContextReference) and expression.name == "results"
