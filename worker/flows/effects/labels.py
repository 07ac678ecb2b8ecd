from collections.abc import Sequence

from persistence.messages.actions import label_incoming
from worker.flows.effects.effect import Recording
from worker.flows.sprints import SprintEvent

TYPES = ("input_labels_added",)


def carry_out(recording: Recording, events: Sequence[SprintEvent]) -> None:
    """Adds the labels that flows gave to incoming messages."""
    labeled: dict[str, list[str]] = {}
    for each in events:
        for label in each.event["labels"]:
            labeled.setdefault(label["uuid"], []).append(each.event["input_uuid"])
    label_incoming(recording.tx, recording.workspace.id, labeled)
