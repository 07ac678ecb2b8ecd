"""The effect of each type of event. Events of types without an effect are only recorded."""

from collections.abc import Sequence

from worker.flows.effects import broadcasts, contacts, flow_events, labels, messages, resthooks, starts, tickets
from worker.flows.effects.effect import Effect, Recording
from worker.flows.sprints import SprintEvent

EFFECTS: tuple[Effect, ...] = (contacts, messages, labels, tickets, broadcasts, starts, resthooks, flow_events)
"""In the order in which they are performed: contacts are changed before they get messages."""
TYPES = frozenset(name for effect in EFFECTS for name in effect.TYPES)
"""Of all events that have an effect."""


def carry_out(recording: Recording, events: Sequence[SprintEvent]) -> None:
    """Performs all events of sprints."""
    kinds = {each.event["type"] for each in events}
    for effect in EFFECTS:
        chosen = kinds.intersection(effect.TYPES)
        if chosen:
            effect.carry_out(recording, [each for each in events if each.event["type"] in chosen])


def has_messages_alone(events: Sequence[SprintEvent]) -> bool:
    """Whether no other effect than that of messages has an event."""
    others = {name for effect in EFFECTS if effect is not messages for name in effect.TYPES}
    return others.isdisjoint(each.event["type"] for each in events)
