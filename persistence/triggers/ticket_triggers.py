"""Triggers on closed tickets: each starts its flow for the contact of the ticket (flow format, triggers)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert, select

from persistence.database import Transaction
from persistence.flow_starts.flow_starts import TICKET, WAKE
from persistence.sql.columns import new_uuid, time_text
from persistence.stamps import stamped
from persistence.tables.accounts import user
from persistence.tables.contacts import group, group_membership
from persistence.tables.flow_starts import PENDING, flow_start, flow_start_contact
from persistence.tables.flows import flow
from persistence.tables.tickets import ticket, topic
from persistence.triggers.triggers import TICKET as TICKET_TRIGGER
from persistence.triggers.triggers import Trigger, load_triggers
from persistence.users import USER_NAME

GROUP_POINTS, EXCLUSION_POINTS = 2, 1


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
    triggers = [each for each in load_triggers(tx, workspace_id) if each.type == TICKET_TRIGGER]
    if not triggers or not ticket_ids:
        return
    tickets = _load(tx, workspace_id, ticket_ids)
    groups = _load_groups(tx, workspace_id, [each.contact_id for each in tickets])
    chosen = {each.id: _choose(triggers, groups.get(each.contact_id, set())) for each in tickets}
    flow_ids = _find_flows(tx, workspace_id, {each.flow_uuid for each in chosen.values() if each is not None})
    starts: list[dict[str, Any]] = []
    contacts: dict[str, int] = {}
    for each in tickets:
        found = chosen[each.id]
        if found is not None:
            starts.append(_describe_start(tx, workspace_id, flow_ids[found.flow_uuid], each))
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


def _choose(triggers: Sequence[Trigger], held: set[str]) -> Trigger | None:
    """The trigger for a contact in these groups; of equally specific ones the newest."""

    def weigh(each: Trigger) -> tuple[int, int]:
        points = (GROUP_POINTS if each.group_uuids else 0) + (EXCLUSION_POINTS if each.excluded_group_uuids else 0)
        return points, each.id

    fitting = [
        each
        for each in triggers
        if (not each.group_uuids or held & set(each.group_uuids)) and not held & set(each.excluded_group_uuids)
    ]
    return max(fitting, key=weigh, default=None)


def _load(tx: Transaction, workspace_id: int, ticket_ids: Sequence[int]) -> list[_Closed]:
    of_ticket = (ticket.c.id, ticket.c.uuid, ticket.c.contact_id)
    mine = (ticket.c.workspace_id == workspace_id) & ticket.c.id.in_(ticket_ids)
    found = select(*of_ticket, topic.c.uuid, topic.c.name, user.c.uuid, user.c.email, USER_NAME)
    source = found.join(topic, topic.c.id == ticket.c.topic_id).outerjoin(user, user.c.id == ticket.c.assignee_id)
    return [_Closed(*row) for row in tx.execute(source.where(mine).order_by(ticket.c.id))]


def _load_groups(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> dict[int, set[str]]:
    links = group_membership.c
    statement = select(links.contact_id, group.c.uuid).join(group, group.c.id == links.group_id)
    mine = (group.c.workspace_id == workspace_id) & links.contact_id.in_(contact_ids)
    found: dict[int, set[str]] = {}
    for contact_id, uuid in tx.execute(statement.where(mine)):
        found.setdefault(contact_id, set()).add(uuid)
    return found


def _find_flows(tx: Transaction, workspace_id: int, uuids: set[str]) -> Mapping[str, int]:
    rows = tx.execute(select(flow.c.uuid, flow.c.id).where(flow.c.workspace_id == workspace_id, flow.c.uuid.in_(uuids)))
    return {uuid: flow_id for uuid, flow_id in rows}


def _describe_start(tx: Transaction, workspace_id: int, flow_id: int, each: _Closed) -> dict[str, Any]:
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
