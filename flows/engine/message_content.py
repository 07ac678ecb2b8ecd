"""The content of a message: text, attachments and quick replies, in one language (flow format, messages)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from flows.definition import Action
from flows.engine.assets import Channel
from flows.engine.options import Options
from flows.engine.visit import Visit
from flows.expressions.functions.formats import attachment_parts
from flows.expressions.templates import cut_text
from flows.urns import Urn, UrnError, parse

_EXTRA_MARK = "<extra>"
# The marks of types of quick replies in their texts; `extra` is the form's id or the URL to open.
_MARKS = {"location": "<location>", "form": "<form>", "url": "<url>"}


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
