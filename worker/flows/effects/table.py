"""Which effect each type of event has. Types without one only tell what happened."""

from collections.abc import Sequence

from worker.flows.effects import broadcasts, contacts, flow_events, labels, messages, resthooks, starts, tickets
from worker.flows.effects.effect import Effect, Recording
from worker.flows.sprint_events import SprintEvent

EFFECTS: tuple[Effect, ...] = (contacts, messages, labels, tickets, broadcasts, starts, resthooks, flow_events)
"""In the order in which they are carried out: whoever gets a message is first what the flow has made of them."""


def carry_out(recording: Recording, events: Sequence[SprintEvent]) -> None:
    """Everything that sprints ask for."""
    for effect in EFFECTS:
        found = [each for each in events if each.event["type"] in effect.TYPES]
        if found:
            effect.carry_out(recording, found)
