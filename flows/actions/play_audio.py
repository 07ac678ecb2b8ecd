"""Plays a recording in a phone call (flow format, play_audio)."""

from flows.definition import Action
from flows.definition.action_types import VOICE_ONLY, action_type
from flows.definition.fields import asked, template, translated
from flows.engine.message_content import log_speech
from flows.engine.visit import Visit


@action_type(
    {"audio_url": asked(translated(template(required=True)), "url")},
    allowed_in=VOICE_ONLY,
    drawn="Play {audio_url}",
    palette="send",
)
def play_audio(visit: Visit, action: Action) -> None:
    """Plays a recording, unless its URL has an expression with an error."""
    recordings, language = visit.localize(action.uuid, "audio_url", [action.fields["audio_url"]])
    audio_url, is_fine = visit.try_text(recordings[0] if recordings else "")
    audio_url = audio_url.strip()
    if not is_fine:
        return
    if not audio_url:
        visit.log.error("Audio URL evaluated to empty, skipping")
        return
    log_speech(visit, "", audio_url, language)
