"""Says something in a phone call (flow format, say_msg)."""

from flows.definition import Action
from flows.definition.action_types import VOICE_ONLY, action_type
from flows.definition.fields import TEXT_LENGTH, any_of, asked, template, text, translated
from flows.engine.message_content import log_speech
from flows.engine.visit import Visit


@action_type(
    # Unlike in play_audio, this URL is not a template.
    {"text": translated(template(TEXT_LENGTH)), "audio_url": asked(translated(text()), "url")},
    allowed_in=VOICE_ONLY,
    rule=any_of("text", "audio_url"),
    drawn="Say: {text}",
    palette="send",
)
def say_msg(visit: Visit, action: Action) -> None:
    """Says a text, or plays a recording of it."""
    texts, text_language = visit.localize(action.uuid, "text", [action.text("text")])
    recordings, audio_language = visit.localize(action.uuid, "audio_url", [action.text("audio_url")])
    said = visit.text(texts[0] if texts else "").strip()
    audio_url = recordings[0].strip() if recordings else ""
    if not said and not audio_url:
        visit.log.error("Can't say message without audio URL or backdown text")
        return
    log_speech(visit, said, audio_url, text_language if said else audio_language)
