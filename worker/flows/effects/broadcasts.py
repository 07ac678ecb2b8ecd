from collections.abc import Sequence

from persistence.audience import find_audience
from persistence.broadcasts.writes import NewBroadcast, create_broadcast
from persistence.sessions.replies import read_attachments, read_quick_replies
from worker.flows.effects.effect import Recording
from worker.flows.sprints import SprintEvent

TYPES = ("broadcast_created",)


def carry_out(recording: Recording, events: Sequence[SprintEvent]) -> None:
    """Creates the broadcasts that flows send; their texts have been evaluated already."""
    for event in (each.event for each in events):
        parts = event["translations"]
        new = NewBroadcast(
            {language: content.get("text") or "" for language, content in parts.items()},
            event["base_language"],
            find_audience(recording.tx, recording.workspace, event),
            files={language: read_attachments(content) for language, content in parts.items()},
            quick_replies={language: read_quick_replies(content) for language, content in parts.items()},
            is_evaluated=True,
        )
        create_broadcast(recording.tx, recording.workspace.id, new)
