"""What the events of sprints change: each type of event has an effect or is only recorded."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any, NamedTuple

from flows.engine import Event
from flows.environment import parse_moment
from flows.urns import parse
from persistence.broadcasts.records import NewBroadcast, create_broadcast
from persistence.contacts.audience import find_audience
from persistence.contacts.writes import ContactChange, create_contact
from persistence.database import Transaction
from persistence.deliveries.outbox import record_flow_event
from persistence.flow_starts.flow_starts import FLOW_ACTION, NewStart, create_start
from persistence.groups.smart_groups import follow_contacts
from persistence.messages.actions import label_incoming
from persistence.messages.outgoing import fail_waiting, read_quick_replies, send_event_reply
from persistence.resthooks import end_subscriptions, find_subscribers_at, record_resthook_event
from persistence.sessions.parking import LeasedContact
from persistence.sessions.replies import (
    ContactDelta,
    FlowMessage,
    change_many,
    change_memberships,
    read_attachments,
    send_replies,
    write_value,
)
from persistence.tables.contacts import BLOCKED
from persistence.tickets.actions import NewTicket, open_ticket
from persistence.tickets.records import find_assignee_of_flow
from persistence.tickets.topics import find_topic
from persistence.workspaces.records import Workspace
from worker.flows.sprints import SprintEvent
from worker.webhooks.dispatcher import interpret_reply

ATTRIBUTES = {
    "contact_name_changed": "name",
    "contact_language_changed": "language",
    "contact_timezone_changed": "timezone",
}
FIELD, URNS, STATUS = "contact_field_changed", "contact_urns_changed", "contact_status_changed"
GROUPS = "contact_groups_changed"
OF_CONTACTS = (*ATTRIBUTES, FIELD, URNS, STATUS, GROUPS)
Effect = Callable[["Recording", Sequence[SprintEvent]], None]
"""Performs the events of some types, of all sprints in their order; never called without events."""
Members = dict[str, list[int]]
"""Contacts by the uuid of a group."""
OF_MESSAGES = ("msg_created", "ivr_created", STATUS)
OF_LABELS = ("input_labels_added",)
OPENED, NOTE_ADDED = "ticket_opened", "ticket_note_added"
OF_TICKETS = (OPENED, NOTE_ADDED)
OF_BROADCASTS = ("broadcast_created",)
OF_STARTS = ("session_triggered",)
RESTHOOK_CALLED = "resthook_called"
OF_RESTHOOKS = (RESTHOOK_CALLED, "webhook_called")
ACCEPTING = range(200, 300)
OF_FLOW_EVENTS = ("flow_event_made",)
PAUSES = ("time_wait", "callback_wait")
WAITS = ("msg_wait", "dial_wait", *PAUSES)
LONGEST_SESSION = timedelta(days=30)
"""Since it began or its last pause ended; pauses themselves have a limit of their own."""


@dataclass(frozen=True, slots=True)
class Recording:
    """The transaction that records sprints of one workspace. `rows` are the locked rows of their contacts; `flow_ids`
    the workspace's flows by UUID.
    """

    tx: Transaction
    workspace: Workspace
    flow_ids: Mapping[str, int]
    rows: Sequence[LeasedContact]


def change_contacts(recording: Recording, events: Sequence[SprintEvent]) -> None:
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


def send_messages(recording: Recording, events: Sequence[SprintEvent]) -> None:
    """Queues the messages that flows send or speak in calls; those for blocked contacts fail at once."""
    flow_ids, workspace_id = recording.flow_ids, recording.workspace.id
    replies = [
        FlowMessage(each.contact_id, flow_id, each.event["msg"], each.is_bulk, each.automatic)
        for each in events
        for flow_id in [flow_ids.get(each.flow.get("uuid", ""))]
        if each.event["type"] != STATUS
    ]
    send_replies(recording.tx, workspace_id, replies)
    statuses = {each.contact_id: each.event["status"] for each in events if each.event["type"] == STATUS}
    blocked = [contact_id for contact_id, status in statuses.items() if status == BLOCKED]
    if blocked:  # the messages that their flows sent before exist only now
        fail_waiting(recording.tx, workspace_id, blocked)


def label_messages(recording: Recording, events: Sequence[SprintEvent]) -> None:
    """Adds the labels that flows gave to incoming messages."""
    labeled: dict[str, list[str]] = {}
    for each in events:
        for label in each.event["labels"]:
            labeled.setdefault(label["uuid"], []).append(each.event["input_uuid"])
    label_incoming(recording.tx, recording.workspace.id, labeled)


def open_tickets(recording: Recording, events: Sequence[SprintEvent]) -> None:
    """Opens the tickets of flows, with their first notes."""
    tx, workspace = recording.tx, recording.workspace
    notes = {each.event["ticket_uuid"]: each.event["note"] for each in events if each.event["type"] == NOTE_ADDED}
    for each in events:
        if each.event["type"] != OPENED:
            continue
        opened = each.event["ticket"]
        topic, assignee = opened.get("topic"), (opened.get("assignee") or {}).get("uuid")
        new = NewTicket(
            each.contact_id,
            find_topic(tx, workspace.id, topic["uuid"]) if topic else None,
            find_assignee_of_flow(tx, workspace.id, assignee) if assignee else None,
            notes.get(opened["uuid"]),
            flow=(each.flow["uuid"], each.flow["name"]),
            uuid=opened["uuid"],
        )
        open_ticket(tx, workspace, new)


def create_broadcasts(recording: Recording, events: Sequence[SprintEvent]) -> None:
    """Creates the broadcasts that flows send; their texts have been evaluated already."""
    for event in (each.event for each in events):
        parts = event["translations"]
        new = NewBroadcast(
            {language: content.get("text") or "" for language, content in parts.items()},
            event["base_language"],
            find_audience(recording.tx, recording.workspace, event),
            files={language: read_attachments(content) for language, content in parts.items()},
            quick_replies={
                language: read_quick_replies(content.get("quick_replies") or ()) for language, content in parts.items()
            },
            is_evaluated=True,
        )
        create_broadcast(recording.tx, recording.workspace.id, new)


def create_starts(recording: Recording, events: Sequence[SprintEvent]) -> None:
    """Creates the flow starts that flows request, if their flows exist."""
    tx, workspace = recording.tx, recording.workspace
    for event in (each.event for each in events):
        flow_id = recording.flow_ids.get(event["flow"]["uuid"])
        if flow_id is None:
            continue
        audience = find_audience(tx, workspace, event)
        if event.get("create_contact"):
            made = create_contact(tx, workspace, ContactChange())
            audience = replace(audience, contact_ids=[*audience.contact_ids, made])
        exclusions = event.get("exclusions") or {}
        new = NewStart(
            flow_id,
            FLOW_ACTION,
            audience,
            restart_participants=not exclusions.get("started_previously"),
            exclude_active=bool(exclusions.get("in_a_flow")),
            parent={"run_summary": event["run_summary"], "history": event["history"]},
        )
        create_start(tx, workspace.id, new)


def trigger_resthooks(recording: Recording, events: Sequence[SprintEvent]) -> None:
    """Records each triggered resthook once; subscribers that were not reached get the event later, those that responded
    with 410 are removed."""
    tx, workspace_id = recording.tx, recording.workspace.id
    for position, each in enumerate(events):
        if each.event["type"] != RESTHOOK_CALLED:
            continue
        slug = each.event["resthook"]
        calls = _calls_of(each, events[position + 1 :])
        gone = [call["url"] for call in calls if call["status"] == "subscriber_gone"]
        if gone:
            end_subscriptions(tx, workspace_id, find_subscribers_at(tx, workspace_id, slug, gone))
        # A subscriber that accepted the event is done, even if its response was too long.
        accepted = [call["url"] for call in calls if call.get("status_code") in ACCEPTING]
        record_resthook_event(tx, workspace_id, slug, each.event["payload"], accepted=accepted)


def record_flow_events(recording: Recording, events: Sequence[SprintEvent]) -> None:
    """Queues event `flow` for the channel's receiver when a contact reached a webhook action, and sends the message in
    the action's response."""
    tx, workspace = recording.tx, recording.workspace
    for each in events:
        payload = each.event["payload"]
        uuid = (payload.get("channel") or {}).get("uuid")
        channel_id = record_flow_event(tx, workspace.id, uuid, each.contact_id, payload) if uuid else None
        reply = interpret_reply(each.event["answer"], workspace.country)
        if reply is not None:
            send_event_reply(
                tx,
                workspace.id,
                reply.text,
                urns=reply.urns,
                contact_uuids=reply.contact_uuids,
                event_contact_id=each.contact_id,
                channel_id=channel_id,
            )


class Ends(NamedTuple):
    """When a wait times out (None: never), when it expires, and from when both count (None: from when it began)."""

    timeout_on: datetime | None = None
    expires_on: datetime | None = None
    counted_from: datetime | None = None


def read_ends(events: Sequence[Event], *, now: datetime, began_on: datetime) -> Ends:
    """When the wait at the end of a sprint ends, by itself or with its session, which counts as begun then. A moment
    until which it lasts stays, however late messages leave: it counts from itself.
    """
    wait = next((event for event in reversed(events) if event["type"] in WAITS), {})
    timeout, until = wait.get("timeout_seconds"), parse_moment(wait.get("until") or "")
    longest = began_on + LONGEST_SESSION
    expires_on = parse_moment(wait.get("expires_on") or "") or longest
    ends_on = now + timedelta(seconds=int(timeout)) if timeout else until
    return Ends(ends_on, expires_on if wait.get("type") in PAUSES else min(expires_on, longest), until)


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


def _calls_of(resthook: SprintEvent, later: Sequence[SprintEvent]) -> list[Event]:
    """The calls to subscribers of a resthook, which follow the resthook's event in its sprint."""
    own = takewhile(lambda each: each.session is resthook.session and each.event["type"] != RESTHOOK_CALLED, later)
    return [each.event for each in own if each.event.get("resthook") == resthook.event["resthook"]]


EFFECTS: Mapping[Effect, tuple[str, ...]] = {
    change_contacts: OF_CONTACTS,
    send_messages: OF_MESSAGES,
    label_messages: OF_LABELS,
    open_tickets: OF_TICKETS,
    create_broadcasts: OF_BROADCASTS,
    create_starts: OF_STARTS,
    trigger_resthooks: OF_RESTHOOKS,
    record_flow_events: OF_FLOW_EVENTS,
}
"""The types of events that each performs or also reads, in the order in which they are performed: contacts are changed
before they get messages."""
TYPES = frozenset(name for types in EFFECTS.values() for name in types)
"""Of all events that have an effect."""


def carry_out(recording: Recording, events: Sequence[SprintEvent]) -> None:
    """Performs all events of sprints."""
    kinds = {each.event["type"] for each in events}
    for effect, types in EFFECTS.items():
        chosen = kinds.intersection(types)
        if chosen:
            effect(recording, [each for each in events if each.event["type"] in chosen])


def has_messages_alone(events: Sequence[SprintEvent]) -> bool:
    """Whether no other effect than that of messages has an event."""
    others = {name for effect, types in EFFECTS.items() if effect is not send_messages for name in types}
    return others.isdisjoint(each.event["type"] for each in events)
