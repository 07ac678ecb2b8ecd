"""The content of a message: text, attachments and quick replies, in one language (flow format, messages).

Messages made from templates that channels have approved (flow format, send_msg).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from flows.definition import Action
from flows.engine.assets import Channel, Template, TemplateTranslation
from flows.engine.options import Options
from flows.engine.visit import Visit
from flows.expressions.evaluator import cut_text
from flows.expressions.functions.numbers import attachment_parts
from flows.urns import Urn, UrnError, parse

_EXTRA_MARK = "<extra>"

# The marks of types of quick replies in their texts; `extra` is the form's id or the URL to open.
_MARKS = {"location": "<location>", "form": "<form>", "url": "<url>"}

TEXT = "text"
_TEXT_PARTS = ("header/", "body/", "footer/")

Evaluated: TypeAlias = tuple[str, bool]


@dataclass(slots=True)
class Content:
    """The parts of a message and its main language; quick replies have the form of events."""

    text: str = ""
    attachments: list[str] = field(default_factory=list)
    quick_replies: list[Any] = field(default_factory=list)
    language: str = ""

    def to_json(self) -> dict[str, Any]:
        """The fields of events; there is always a text."""
        optional = {"attachments": self.attachments, "quick_replies": self.quick_replies}
        return {"text": self.text, **{name: items for name, items in optional.items() if items}}


def evaluate_content(visit: Visit, action: Action, languages: Sequence[str] | None = None) -> Content:
    """Evaluates the parts of a message, each in its best language."""
    fields = action.fields
    texts, text_language = visit.localize(action.uuid, "text", [fields.get("text") or ""], languages)
    attachments, attachment_language = visit.localize(
        action.uuid, "attachments", fields.get("attachments") or [], languages
    )
    replies, reply_language = visit.localize(action.uuid, "quick_replies", fields.get("quick_replies") or [], languages)
    content = Content(
        visit.text(texts[0]) if texts else "",
        _evaluate_attachments(visit, attachments),
        _evaluate_quick_replies(visit, [_reply_template(reply) for reply in replies]),
    )
    # The parts may come from different translations, but a message has one language: that of its written text, even if
    # the evaluated text is empty.
    if texts and texts[0]:
        content.language = text_language
    elif attachments:
        content.language = attachment_language
    elif replies:
        content.language = reply_language
    return content


def is_attachment(text: str) -> bool:
    """Whether a string has the form `type:url`; the type is like `image` or `image/png`."""
    content_type, address = attachment_parts(text)
    return bool(content_type and address.strip())


def make_quick_reply(text: str, options: Options) -> Any:
    """A quick reply for events from its text, in which marks separate the type and extra text."""
    if options.is_early:
        return cut_text(text, options.quick_reply_characters)
    kind = next((kind for kind, mark in _MARKS.items() if text.startswith(mark)), "text")
    text = text.removeprefix(_MARKS.get(kind, ""))
    shown, _, extra = text.partition(_EXTRA_MARK)
    reply = {"type": kind, "text": cut_text(shown.strip(), options.quick_reply_characters)}
    if extra.strip():
        reply["extra"] = cut_text(extra.strip(), options.quick_reply_extra_characters)
    return {name: value for name, value in reply.items() if value}


def start_message(visit: Visit, urn: Urn | None, channel: Channel | None, content: Content) -> dict[str, Any]:
    """The fields that all outgoing messages have."""
    message: dict[str, Any] = {}
    if visit.options.is_early:
        # In later generations the event's UUID is that of the message.
        message["uuid"] = visit.sprint.clock.uuid()
    if urn is not None:
        message["urn"] = urn.identity
    if channel is not None:
        message["channel"] = channel.reference
    return {**message, **content.to_json()}


def make_locale(visit: Visit, language: str) -> str:
    """Language and country of a message, such as `eng-US`."""
    country = visit.sprint.environment.default_country
    return f"{language}-{country}" if language and country else language


def log_speech(visit: Visit, text: str, audio_url: str, language: str) -> None:
    """Logs something to speak or play in the session's phone call."""
    urn, channel = _find_call_route(visit)
    content = Content(text, [f"audio:{audio_url}"] if audio_url else [])
    message = start_message(visit, urn, channel, content)
    locale = make_locale(visit, language)
    visit.log.add("ivr_created", {"msg": {**message, "locale": locale} if locale else message})


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


def _reply_template(reply: Any) -> str:
    if isinstance(reply, str):
        return reply
    mark = _MARKS.get(str(reply.get("type")), "")
    extra = f"{_EXTRA_MARK}{reply['extra']}" if reply.get("extra") else ""
    return f"{mark}{reply.get('text') or ''}{extra}"


def _evaluate_attachments(visit: Visit, templates: Sequence[str]) -> list[str]:
    limit = visit.options.attachment_characters
    attachments: list[str] = []
    for template in templates:
        attachment = visit.text(template).strip()
        if not is_attachment(attachment):
            visit.log.error("Attachment evaluated to invalid value and will be ignored")
        elif len(attachment) > limit:
            visit.log.error(f"Evaluated attachment is longer than the {limit} limit and will be ignored")
        else:
            attachments.append(attachment)
    return attachments


def _evaluate_quick_replies(visit: Visit, templates: Sequence[str]) -> list[Any]:
    replies: list[Any] = []
    for template in templates:
        text = visit.text(template)
        if text.strip():
            replies.append(make_quick_reply(text, visit.options))
        else:
            visit.log.error("Quick reply evaluated to empty string and will be ignored")
    return replies


def _find_call_route(visit: Visit) -> tuple[Urn | None, Channel | None]:
    session = visit.sprint.session
    call = session.call or session.trigger.get("connection") or session.trigger.get("call") or {}
    channel = visit.sprint.assets.channels.get((call.get("channel") or {}).get("uuid", ""))
    urn: Urn | None
    try:
        urn = parse(str(call.get("urn") or ""))
    except UrnError:
        urn = session.contact.find_urn("tel")
    return urn, channel


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
