"""From the events of sprints to changes of contacts, their groups and what depends on both."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from flows.engine import Event, Session
from flows.urns import UrnError, parse
from persistence.sessions.contact_changes import ContactDelta
from persistence.sessions.contacts import write_value

ATTRIBUTES = {
    "contact_name_changed": "name",
    "contact_language_changed": "language",
    "contact_timezone_changed": "timezone",
}


@dataclass(slots=True)
class ContactEffects:
    """Changes by contact id, and who joins and leaves which group (by uuid)."""

    deltas: dict[int, ContactDelta] = field(default_factory=dict)
    joined: dict[str, list[int]] = field(default_factory=dict)
    left: dict[str, list[int]] = field(default_factory=dict)

    @property
    def contact_ids(self) -> list[int]:
        """Everybody about whom something changed."""
        members = (contact_id for ids in (*self.joined.values(), *self.left.values()) for contact_id in ids)
        return sorted({*self.deltas, *members})


def collect_contact_effects(sprints: Iterable[tuple[int, Session, Sequence[Event]]]) -> ContactEffects:
    """What (contact id, session, events) of sprints change; a later event about the same thing wins."""
    effects = ContactEffects()
    for contact_id, session, events in sprints:
        for event in events:
            _collect(effects, contact_id, session, event)
    return effects


def _collect(effects: ContactEffects, contact_id: int, session: Session, event: Event) -> None:
    kind = event["type"]
    if kind == "contact_groups_changed":
        _move(effects.joined, effects.left, event.get("groups_added") or (), contact_id)
        _move(effects.left, effects.joined, event.get("groups_removed") or (), contact_id)
        return
    if kind not in ATTRIBUTES and kind not in (
        "contact_field_changed",
        "contact_urns_changed",
        "contact_status_changed",
    ):
        return
    delta = effects.deltas.setdefault(contact_id, ContactDelta())
    if kind in ATTRIBUTES:
        delta.values[ATTRIBUTES[kind]] = event[ATTRIBUTES[kind]] or ""
    elif kind == "contact_field_changed":
        key = event["field"]["key"]
        delta.fields[key] = write_value(session.contact.fields.get(key)) if event["value"] else None
    elif kind == "contact_status_changed":
        delta.status = event["status"]
    else:
        delta.urns = [urn for text in event["urns"] if (urn := _read(text)) is not None]


def _move(into: dict[str, list[int]], out_of: dict[str, list[int]], groups: Iterable[Any], contact_id: int) -> None:
    for each in groups:
        others = out_of.get(each["uuid"], [])
        if contact_id in others:
            others.remove(contact_id)
        into.setdefault(each["uuid"], []).append(contact_id)


def _read(text: str) -> Any:
    try:
        return parse(text)
    except UrnError:
        return None
