"""Messages made from templates that channels have approved (flow format, send_msg)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from flows.definition import Action
from flows.engine.assets import Channel, Template, TemplateTranslation
from flows.engine.message_content import Content, is_attachment, make_quick_reply
from flows.engine.visit import Visit

TEXT = "text"
_TEXT_PARTS = ("header/", "body/", "footer/")

Evaluated: TypeAlias = tuple[str, bool]


@dataclass(frozen=True, slots=True)
class TemplatedMessage:
    """The content of a template for the contact, the data for the channel, and the locale of its translation."""

    content: Content
    templating: dict[str, Any]
    locale: str


def find_template(visit: Visit, action: Action) -> Template | None:
    """The template of a message; None if it has none or it does not exist."""
    reference = action.fields.get("template") or (action.fields.get("templating") or {}).get("template")
    return visit.sprint.assets.templates.get(reference.get("uuid", "")) if reference else None


def evaluate_variables(visit: Visit, action: Action) -> list[Evaluated]:
    """The values of a message's template variables, each with whether it had no errors."""
    early: Mapping[str, Any] = action.fields.get("templating") or {}
    if "template_variables" in action.fields or not early:
        texts, _ = visit.localize(action.uuid, "template_variables", action.fields.get("template_variables") or [])
    else:
        texts, _ = visit.localize(early.get("uuid") or action.uuid, "variables", early.get("variables") or [])
    return [visit.try_text(text) for text in texts]


def fill_template(
    visit: Visit, template: Template, channel: Channel | None, values: Sequence[Evaluated]
) -> TemplatedMessage | None:
    """Fills the best translation for contact and channel; None if there is none for the channel. An expression with an
    error becomes an empty string in a text; an attachment with an error is not sent.
    """
    translation = _find_translation(visit, template, channel)
    if translation is None:
        return None
    types = translation.variables
    variables = [(kind, _pick_value(kind, values, index)) for index, kind in enumerate(types)]
    content = _preview(visit, translation, variables)
    templating: dict[str, Any] = {"template": template.reference}
    components = [
        {"name": part.name, "type": part.type, "variables": dict(part.variables)}
        for part in translation.components
        if part.variables
    ]
    if components:
        templating["components"] = components
    if variables:
        templating["variables"] = [{"type": kind, "value": value} for kind, value in variables]
    if translation.namespace:
        templating["namespace"] = translation.namespace
    return TemplatedMessage(content, templating, translation.locale)


def _pick_value(kind: str, values: Sequence[Evaluated], index: int) -> str:
    value, is_fine = values[index] if index < len(values) else ("", True)
    return value if is_fine or kind == TEXT else ""


def _find_translation(visit: Visit, template: Template, channel: Channel | None) -> TemplateTranslation | None:
    if channel is None:
        return None
    candidates = [item for item in template.translations if item.channel_uuid == channel.uuid]
    country = visit.sprint.environment.default_country
    for language in visit.languages:
        exact = [item for item in candidates if item.locale == f"{language}-{country}"]
        similar = [item for item in candidates if item.locale.partition("-")[0] == language]
        if exact or similar:
            return (exact or similar)[0]
    return candidates[0] if candidates else None


def _preview(visit: Visit, translation: TemplateTranslation, variables: Sequence[tuple[str, str]]) -> Content:
    content = Content()
    texts: list[str] = []
    for part in translation.components:
        text = part.content
        for name, index in part.variables.items():
            kind, value = variables[index] if index < len(variables) else ("text", "")
            if kind == TEXT:
                text = text.replace(f"{{{{{name}}}}}", value)
            elif is_attachment(value):
                content.attachments.append(value)
        if text and part.type.startswith(_TEXT_PARTS):
            texts.append(text)
        elif text and part.type.startswith("button/"):
            content.quick_replies.append(make_quick_reply(text, visit.options))
    content.text = "\n\n".join(texts)
    return content
