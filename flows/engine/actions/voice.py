"""Actions that say and play things in a phone call (flow format, messages)."""

from __future__ import annotations

from flows.definition import Action
from flows.engine.actions.contents import Content
from flows.engine.actions.messages import make_locale, start_message
from flows.engine.assets import Channel
from flows.engine.visit import Visit
from flows.urns import Urn, UrnError, parse


def say_msg(visit: Visit, action: Action) -> None:
    """Says a text, or plays a recording of it."""
    texts, text_language = visit.localize(action.uuid, "text", [action.fields.get("text") or ""])
    recordings, audio_language = visit.localize(action.uuid, "audio_url", [action.fields.get("audio_url") or ""])
    text = visit.text(texts[0] if texts else "").strip()
    # Unlike that of play_audio, this address is no template.
    audio_url = recordings[0].strip() if recordings else ""
    if not text and not audio_url:
        visit.log.error("Can't say message without audio URL or backdown text")
        return
    _log_speech(visit, text, audio_url, text_language if text else audio_language)


def play_audio(visit: Visit, action: Action) -> None:
    """Plays a recording; one whose address has an expression in error is not played."""
    recordings, language = visit.localize(action.uuid, "audio_url", [action.fields["audio_url"]])
    audio_url, is_fine = visit.try_text(recordings[0] if recordings else "")
    audio_url = audio_url.strip()
    if not is_fine:
        return
    if not audio_url:
        visit.log.error("Audio URL evaluated to empty, skipping")
        return
    _log_speech(visit, "", audio_url, language)


def _log_speech(visit: Visit, text: str, audio_url: str, language: str) -> None:
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
