"""What flows change about their contacts, their groups and what depends on both."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flows.urns import parse
from persistence.groups.smart_groups import follow_contacts
from persistence.sessions.contacts import write_value
from persistence.sessions.replies import ContactDelta, change_many, change_memberships
from worker.flows.effects.effect import Recording
from worker.flows.sprints import SprintEvent

ATTRIBUTES = {
    "contact_name_changed": "name",
    "contact_language_changed": "language",
    "contact_timezone_changed": "timezone",
}
FIELD, URNS, STATUS = "contact_field_changed", "contact_urns_changed", "contact_status_changed"
GROUPS = "contact_groups_changed"
TYPES = (*ATTRIBUTES, FIELD, URNS, STATUS, GROUPS)

Members = dict[str, list[int]]
"""Contacts by the uuid of a group."""


def carry_out(recording: Recording, events: Sequence[SprintEvent]) -> None:
    """Changes all contacts at once; of several events that change the same property the last one counts."""
    deltas: dict[int, ContactDelta] = {}
    joined: Members = {}
    left: Members = {}
    for each in events:
        if each.event["type"] == GROUPS:
            _move(joined, left, each.event.get("groups_added") or (), each.contact_id)
            _move(left, joined, each.event.get("groups_removed") or (), each.contact_id)
        else:
            _note(deltas.setdefault(each.contact_id, ContactDelta()), each)
    change_many(recording.tx, recording.workspace.id, recording.rows, deltas)
    change_memberships(recording.tx, recording.workspace.id, joined, left)
    moved = (contact_id for ids in (*joined.values(), *left.values()) for contact_id in ids)
    changed = sorted({*deltas, *moved})
    if changed:
        follow_contacts(recording.tx, recording.workspace.id, changed)


def _note(delta: ContactDelta, each: SprintEvent) -> None:
    event, kind = each.event, each.event["type"]
    if kind in ATTRIBUTES:
        delta.values[ATTRIBUTES[kind]] = event[ATTRIBUTES[kind]] or ""
    elif kind == FIELD:
        key = event["field"]["key"]
        delta.fields[key] = write_value(each.session.contact.fields.get(key)) if event["value"] else None
    elif kind == STATUS:
        delta.status = event["status"]
    else:
        delta.urns = [parse(text) for text in event["urns"]]


def _move(into: Members, out_of: Members, groups: Iterable[Mapping[str, Any]], contact_id: int) -> None:
    for each in groups:
        others = out_of.get(each["uuid"], [])
        if contact_id in others:
            others.remove(contact_id)
        into.setdefault(each["uuid"], []).append(contact_id)
