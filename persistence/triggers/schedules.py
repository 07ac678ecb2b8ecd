"""Starts the flows of triggers that no message or call starts: schedules, which are due next by the time zone of their
workspace, and closed tickets (flow format, triggers). Each due time becomes a start, even if a worker dies.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import and_, insert, select

from persistence.contacts.audience import Audience
from persistence.database import Transaction
from persistence.flow_starts.flow_starts import TICKET, TRIGGER, WAKE, NewStart, create_start
from persistence.leases import GIVEN_UP, GOT_ON, Leases
from persistence.repeating import NEVER, find_next_due
from persistence.sql.columns import BigId, UtcDateTime, new_uuid, time_text
from persistence.stamps import stamped
from persistence.statements import param, update
from persistence.tables.accounts import user, workspace
from persistence.tables.campaigns import trigger, trigger_contact, trigger_group
from persistence.tables.contacts import ticket, topic
from persistence.tables.flows import PENDING, flow, flow_start, flow_start_contact
from persistence.triggers.matching import choose_trigger, load_groups, load_triggers
from persistence.triggers.records import SCHEDULE
from persistence.triggers.records import TICKET as TICKET_TRIGGER
from persistence.users import USER_NAME

logger = logging.getLogger("relayboard.worker")

MISSED = f"A time was left out. {GIVEN_UP}"
_MINE, _NOW = param("workspace_id", BigId), param("now", UtcDateTime)
_LIVING = select(flow.c.id).where(flow.c.workspace_id == _MINE, ~flow.c.is_archived)
_IS_DUE = and_(
    *(trigger.c.workspace_id == _MINE, trigger.c.type == SCHEDULE, ~trigger.c.is_archived),
    *(trigger.c.next_fire_on.is_not(None), trigger.c.next_fire_on <= _NOW, trigger.c.flow_id.in_(_LIVING)),
)
LEASES = Leases(trigger, _IS_DUE, trigger.c.next_fire_on, trigger.c.id)


def list_scheduling_workspaces(tx: Transaction) -> list[int]:
    """The workspaces with a trigger that is due, of which there are few."""
    rows = trigger.c
    due = select(rows.workspace_id).where(rows.next_fire_on.is_not(None), rows.next_fire_on <= tx.now)
    return list(tx.execute(due.distinct()).scalars())


def begin_due(tx: Transaction, workspace_id: int) -> int | None:
    """The schedule of a workspace that has been due longest, after this was counted as an attempt; None if none is due.
    One that was begun too often without getting on leaves out this time."""

    def give_up(tx: Transaction, trigger_id: int) -> None:
        logger.error("schedule %d of workspace %d: %s", trigger_id, workspace_id, MISSED)
        _move_on(tx, workspace_id, trigger_id, error=MISSED)

    return LEASES.take_next(tx, workspace_id, give_up)


def start_due(tx: Transaction, workspace_id: int, trigger_id: int) -> bool:
    """Creates a start for a schedule that is due, one for all the times that it has missed; returns whether there may
    be more."""
    due = select(trigger.c.flow_id).where(_IS_DUE, trigger.c.id == trigger_id).with_for_update(skip_locked=True)
    flow_id = tx.execute(due, {"workspace_id": workspace_id, "now": tx.now}).scalar()
    if flow_id is not None:
        create_start(tx, workspace_id, _describe_start(tx, trigger_id, flow_id))
        _move_on(tx, workspace_id, trigger_id, error=None)
    return True


@dataclass(frozen=True, slots=True)
class _Closed:
    """A ticket that was just closed, with its topic and assignee."""

    id: int
    uuid: str
    contact_id: int
    topic_uuid: str
    topic_name: str
    user_uuid: str | None
    email: str | None
    user_name: str


def start_for_closed(tx: Transaction, workspace_id: int, ticket_ids: Sequence[int]) -> None:
    """Starts the flow of the most specific trigger for each ticket just closed; few statements for any number."""
    # Nobody closes a ticket through a channel, so that of a trigger says nothing.
    triggers = [
        replace(each, channel_uuid=None) for each in load_triggers(tx, workspace_id) if each.type == TICKET_TRIGGER
    ]
    if not triggers or not ticket_ids:
        return
    tickets = _load(tx, workspace_id, ticket_ids)
    groups = load_groups(tx, workspace_id, [each.contact_id for each in tickets])
    chosen = {
        each.id: choose_trigger(triggers, (TICKET_TRIGGER,), groups.get(each.contact_id, set()), None)
        for each in tickets
    }
    flow_ids = _find_flows(tx, workspace_id, {each.flow_uuid for each in chosen.values() if each is not None})
    starts: list[dict[str, Any]] = []
    contacts: dict[str, int] = {}
    for each in tickets:
        found = chosen[each.id]
        if found is not None:
            starts.append(_describe_ticket_start(tx, workspace_id, flow_ids[found.flow_uuid], each))
            contacts[starts[-1]["uuid"]] = each.contact_id
    if starts:
        tx.execute(insert(flow_start), starts)
        made = tx.execute(
            select(flow_start.c.id, flow_start.c.uuid).where(
                flow_start.c.workspace_id == workspace_id, flow_start.c.uuid.in_(contacts)
            )
        )
        named = [
            {"workspace_id": workspace_id, "start_id": start_id, "contact_id": contacts[uuid], "is_named": True}
            for start_id, uuid in made
        ]
        tx.execute(insert(flow_start_contact), named)
        tx.wake(WAKE)


def _move_on(tx: Transaction, workspace_id: int, trigger_id: int, error: str | None) -> None:
    """Stores when a schedule that was due is due next."""
    rows = trigger.c
    mine = (rows.workspace_id == workspace_id) & (rows.id == trigger_id)
    columns = (rows.next_fire_on, rows.repeat, rows.days, rows.time_of_day, workspace.c.timezone)
    known = select(*columns).join(workspace, workspace.c.id == rows.workspace_id).where(mine)
    due_on, repeat, days, time_of_day, timezone = tx.execute(known).one()
    assert due_on is not None, "what is due has a time"
    following = find_next_due(due_on, repeat or NEVER, days, ZoneInfo(timezone), tx.now, time_of_day)
    tx.execute(update(trigger).where(mine).values(next_fire_on=following, error=error, **GOT_ON))


def _describe_start(tx: Transaction, trigger_id: int, flow_id: int) -> NewStart:
    links = trigger_group.c
    of_groups = select(links.group_id, links.is_excluded).where(links.trigger_id == trigger_id).order_by(links.group_id)
    groups = tx.execute(of_groups).all()
    named = trigger_contact.c
    contacts = select(named.contact_id).where(named.trigger_id == trigger_id).order_by(named.contact_id)
    audience = Audience(
        tx.execute(contacts).scalars().all(),
        group_ids=[group_id for group_id, is_excluded in groups if not is_excluded],
        excluded_group_ids=[group_id for group_id, is_excluded in groups if is_excluded],
    )
    return NewStart(flow_id, TRIGGER, audience)


def _load(tx: Transaction, workspace_id: int, ticket_ids: Sequence[int]) -> list[_Closed]:
    of_ticket = (ticket.c.id, ticket.c.uuid, ticket.c.contact_id)
    mine = (ticket.c.workspace_id == workspace_id) & ticket.c.id.in_(ticket_ids)
    found = select(*of_ticket, topic.c.uuid, topic.c.name, user.c.uuid, user.c.email, USER_NAME)
    source = found.join(topic, topic.c.id == ticket.c.topic_id).outerjoin(user, user.c.id == ticket.c.assignee_id)
    return [_Closed(*row) for row in tx.execute(source.where(mine).order_by(ticket.c.id))]


def _find_flows(tx: Transaction, workspace_id: int, uuids: set[str]) -> Mapping[str, int]:
    rows = tx.execute(select(flow.c.uuid, flow.c.id).where(flow.c.workspace_id == workspace_id, flow.c.uuid.in_(uuids)))
    return {uuid: flow_id for uuid, flow_id in rows}


def _describe_ticket_start(tx: Transaction, workspace_id: int, flow_id: int, each: _Closed) -> dict[str, Any]:
    topic_ref = {"uuid": each.topic_uuid, "name": each.topic_name}
    closed: dict[str, Any] = {"uuid": each.uuid, "status": "closed", "topic": topic_ref}
    if each.email is not None:
        closed["assignee"] = {"uuid": each.user_uuid, "email": each.email, "name": each.user_name.strip()}
    event = {"uuid": new_uuid(), "type": "ticket_closed", "created_on": time_text(tx.now), "ticket": closed}
    return {
        "uuid": new_uuid(),
        "workspace_id": workspace_id,
        "flow_id": flow_id,
        "status": PENDING,
        "start_type": TICKET,
        "parent": {"event": event},
        "created_on": tx.now,
        "modified_on": stamped(tx, flow_start, workspace_id),
    }
