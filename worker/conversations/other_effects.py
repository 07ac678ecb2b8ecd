"""What flows cause beyond their contact: tickets, labels, broadcasts, starts, resthook events, flow events."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import select

from flows.engine import Event
from flows.urns import Urn, UrnError, parse
from persistence.broadcasts import NewBroadcast, create_broadcast
from persistence.channel_event_form import FLOW
from persistence.channels import channel
from persistence.contact_urns import ensure_owners
from persistence.contact_writes import ContactChange, create_contact
from persistence.contacts import contact
from persistence.database import Transaction
from persistence.deliveries import NewDelivery, record_deliveries
from persistence.event_replies import send_event_reply
from persistence.flow_starts import FLOW_ACTION, NewStart, create_start
from persistence.groups import group
from persistence.labels import label
from persistence.message_actions import add_label
from persistence.messages import message
from persistence.resthook_events import record_resthook_event
from persistence.resthook_subscribers import end_subscriptions, find_subscribers_at
from persistence.ticket_actions import NewTicket, open_ticket
from persistence.topics import topic
from persistence.users import user
from persistence.workspaces import Workspace
from worker.conversations.event_flows import FlowReference
from worker.reply import interpret_reply

JSON_TYPE = "application/json"


def find_ids(tx: Transaction, workspace_id: int, table: Any, references: Iterable[Mapping[str, str]]) -> dict[str, int]:
    """The row ids of references by uuid; what no longer exists is left out."""
    uuids = sorted({str(each["uuid"]) for each in references})
    if not uuids:
        return {}
    mine = (table.c.workspace_id == workspace_id) & table.c.uuid.in_(uuids)
    return {uuid: row_id for uuid, row_id in tx.execute(select(table.c.uuid, table.c.id).where(mine))}


def open_tickets(
    tx: Transaction, workspace: Workspace, contact_id: int, events: Sequence[tuple[Event, FlowReference]]
) -> None:
    """Opens the tickets that a sprint opened, with their first notes."""
    notes = {event["ticket_uuid"]: event["note"] for event, _ in events if event["type"] == "ticket_note_added"}
    for event, flow in events:
        if event["type"] != "ticket_opened":
            continue
        opened = event["ticket"]
        topic_ids = find_ids(tx, workspace.id, topic, [opened["topic"]] if opened.get("topic") else [])
        assignee = opened.get("assignee") or {}
        new = NewTicket(
            contact_id,
            next(iter(topic_ids.values()), None),
            _find_user(tx, assignee.get("uuid")),
            notes.get(opened["uuid"]),
            flow=(flow["uuid"], flow["name"]),
            uuid=opened["uuid"],
        )
        open_ticket(tx, workspace, new)


def _find_user(tx: Transaction, uuid: str | None) -> int | None:
    return None if not uuid else tx.execute(select(user.c.id).where(user.c.uuid == uuid)).scalar_one_or_none()


def add_labels(tx: Transaction, workspace_id: int, events: Sequence[Event]) -> None:
    """Labels the incoming messages that flows labelled, all messages of a label at once."""
    labelled: dict[str, list[str]] = {}
    for event in events:
        if event["type"] == "input_labels_added":
            for each in event["labels"]:
                labelled.setdefault(each["uuid"], []).append(event["input_uuid"])
    label_ids = find_ids(tx, workspace_id, label, [{"uuid": uuid} for uuid in labelled])
    for uuid, label_id in sorted(label_ids.items(), key=lambda item: item[1]):
        inputs = [{"uuid": each} for each in labelled[uuid]]
        add_label(
            tx, workspace_id, sorted(find_ids(tx, workspace_id, message, inputs).values()), label_id, may_be_gone=True
        )


def create_broadcasts(tx: Transaction, workspace: Workspace, events: Sequence[Event]) -> None:
    """Accepts the broadcasts that flows ask for; their texts have been evaluated already."""
    for event in events:
        if event["type"] != "broadcast_created":
            continue
        chosen = find_audience(tx, workspace, event)
        parts = event["translations"]
        new = NewBroadcast(
            {language: content.get("text") or "" for language, content in parts.items()},
            event["base_language"],
            chosen.contact_ids,
            chosen.group_ids,
            urns=[urn.identity for urn in chosen.urns],
            address_ids=chosen.address_ids,
            files={language: _attachments(content) for language, content in parts.items()},
            quick_replies={language: _quick_replies(content) for language, content in parts.items()},
            is_evaluated=True,
            query=event.get("contact_query") or None,
        )
        create_broadcast(tx, workspace.id, new)


def start_others(tx: Transaction, workspace: Workspace, flow_ids: Mapping[str, int], events: Sequence[Event]) -> None:
    """Accepts the starts that flows ask for."""
    for event in events:
        flow_id = flow_ids.get(event["flow"]["uuid"]) if event["type"] == "session_triggered" else None
        if flow_id is None:
            continue
        chosen = find_audience(tx, workspace, event)
        created = [create_contact(tx, workspace, ContactChange())] if event.get("create_contact") else []
        exclusions = event.get("exclusions") or {}
        new = NewStart(
            flow_id,
            FLOW_ACTION,
            [*chosen.contact_ids, *created],
            chosen.address_ids,
            chosen.group_ids,
            event.get("contact_query") or None,
            restart_participants=not exclusions.get("started_previously"),
            exclude_active=bool(exclusions.get("in_a_flow")),
            parent={"run_summary": event["run_summary"], "history": event["history"]},
        )
        create_start(tx, workspace.id, new)


@dataclass(frozen=True, slots=True)
class Audience:
    """Whom a flow's broadcast or start is for; `address_ids` own the `urns`."""

    contact_ids: list[int]
    group_ids: list[int]
    urns: list[Urn]
    address_ids: list[int]


def find_audience(tx: Transaction, workspace: Workspace, event: Event) -> Audience:
    """The contacts, groups and addresses of an event that still exist; contacts are made for new addresses."""
    urns = [urn for text in event.get("urns") or () if (urn := _read_urn(text)) is not None]
    owners = ensure_owners(tx, workspace.id, urns)
    return Audience(
        sorted(find_ids(tx, workspace.id, contact, event.get("contacts") or ()).values()),
        sorted(find_ids(tx, workspace.id, group, event.get("groups") or ()).values()),
        urns,
        [owners[urn.identity].contact_id for urn in urns],
    )


def _attachments(content: Mapping[str, Any]) -> list[dict[str, str]]:
    parts = [str(text).partition(":") for text in content.get("attachments") or ()]
    return [{"content_type": content_type, "url": url} for content_type, _, url in parts]


def _quick_replies(content: Mapping[str, Any]) -> list[dict[str, str]]:
    replies = content.get("quick_replies") or ()
    return [{name: each[name] for name in ("text", "extra") if each.get(name)} for each in replies]


def record_resthooks(tx: Transaction, workspace_id: int, events: Sequence[Event]) -> None:
    """Notes each triggered resthook once; subscribers not reached get it later, those that are gone are removed."""
    for position, event in enumerate(events):
        if event["type"] != "resthook_called":
            continue
        slug = event["resthook"]
        calls = _calls_of(events[position + 1 :], slug)
        gone = [call["url"] for call in calls if call["status"] == "subscriber_gone"]
        if gone:
            end_subscriptions(tx, workspace_id, find_subscribers_at(tx, workspace_id, slug, gone))
        # Who accepted it has been told, however much the answer said that nobody reads.
        told = [call["url"] for call in calls if 200 <= call.get("status_code", 0) < 300]
        record_resthook_event(tx, workspace_id, slug, event["payload"], told=told)


def _calls_of(events: Sequence[Event], slug: str) -> list[Event]:
    calls = []
    for event in events:
        if event["type"] == "resthook_called":
            break
        if event["type"] == "webhook_called" and event.get("resthook") == slug:
            calls.append(event)
    return calls


def record_flow_events(tx: Transaction, workspace: Workspace, contact_id: int, events: Sequence[Event]) -> None:
    """Tells the channel's receiver that a contact reached an API action, and sends what that action was answered."""
    for event in events:
        if event["type"] != "flow_event_made":
            continue
        channel_id = _deliver_to_channel(tx, workspace.id, contact_id, event["payload"])
        reply = interpret_reply(event["answer"], workspace.country)
        if reply is not None:
            send_event_reply(
                tx,
                workspace.id,
                reply.text,
                urns=reply.urns,
                contact_uuids=reply.contact_uuids,
                event_contact_id=contact_id,
                channel_id=channel_id,
            )


def _deliver_to_channel(tx: Transaction, workspace_id: int, contact_id: int, payload: Mapping[str, Any]) -> int | None:
    uuid = (payload.get("channel") or {}).get("uuid")
    if not uuid:
        return None
    columns = (channel.c.id, channel.c.webhook_url, channel.c.webhook_events)
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == uuid) & channel.c.is_active
    row = tx.execute(select(*columns).where(mine)).first()
    if row is None:
        return None
    if row.webhook_url and (row.webhook_events is None or FLOW in row.webhook_events):
        body = orjson.dumps({"event": FLOW} | dict(payload))
        new = NewDelivery(FLOW, row.webhook_url, JSON_TYPE, body, channel_id=row.id, contact_id=contact_id)
        record_deliveries(tx, workspace_id, [new])
    channel_id: int = row.id
    return channel_id


def _read_urn(text: str) -> Urn | None:
    try:
        return parse(text)
    except UrnError:
        return None


def carry_out(
    tx: Transaction,
    workspace: Workspace,
    contact_id: int,
    events_in_flows: Sequence[tuple[Event, FlowReference]],
    flow_ids: Mapping[str, int],
) -> None:
    """Everything of one sprint in its order; each event comes with the flow it happened in."""
    events = [event for event, _ in events_in_flows]
    kinds = {event["type"] for event in events}
    if "ticket_opened" in kinds:
        open_tickets(tx, workspace, contact_id, events_in_flows)
    if "broadcast_created" in kinds:
        create_broadcasts(tx, workspace, events)
    if "session_triggered" in kinds:
        start_others(tx, workspace, flow_ids, events)
    if "resthook_called" in kinds:
        record_resthooks(tx, workspace.id, events)
    if "flow_event_made" in kinds:
        record_flow_events(tx, workspace, contact_id, events)
