"""Triggers on closed tickets: each starts its flow for the contact of the ticket (flow format, triggers)."""

from collections.abc import Mapping, Sequence
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


def start_for_closed(tx: Transaction, workspace_id: int, ticket_ids: Sequence[int]) -> None:
    """Starts the flow of the most specific trigger for each ticket just closed; few statements for any number."""
    triggers = [each for each in load_triggers(tx, workspace_id) if each.type == TICKET_TRIGGER]
    if not triggers or not ticket_ids:
        return
    rows = _load(tx, workspace_id, ticket_ids)
    groups = _load_groups(tx, workspace_id, [row.contact_id for row in rows])
    chosen = {row.id: _choose(triggers, groups.get(row.contact_id, set())) for row in rows}
    flow_ids = _find_flows(tx, workspace_id, {each.flow_uuid for each in chosen.values() if each is not None})
    starts: list[dict[str, Any]] = []
    contacts: dict[str, int] = {}
    for row in rows:
        found = chosen[row.id]
        if found is not None:
            starts.append(_describe_start(tx, workspace_id, flow_ids[found.flow_uuid], row))
            contacts[starts[-1]["uuid"]] = row.contact_id
    if starts:
        tx.execute(insert(flow_start), starts)
        made = tx.execute(select(flow_start.c.id, flow_start.c.uuid).where(flow_start.c.uuid.in_(contacts)))
        named = [{"start_id": start_id, "contact_id": contacts[uuid], "is_named": True} for start_id, uuid in made]
        tx.execute(insert(flow_start_contact), named)
        tx.wake(WAKE)


def _choose(triggers: Sequence[Trigger], held: set[str]) -> Trigger | None:
    """The trigger for a contact in these groups; among equally specific ones the newest."""

    def weigh(each: Trigger) -> tuple[int, int]:
        points = (GROUP_POINTS if each.group_uuids else 0) + (EXCLUSION_POINTS if each.excluded_group_uuids else 0)
        return points, each.id

    fitting = [
        each
        for each in triggers
        if (not each.group_uuids or held & set(each.group_uuids)) and not held & set(each.excluded_group_uuids)
    ]
    return max(fitting, key=weigh, default=None)


def _load(tx: Transaction, workspace_id: int, ticket_ids: Sequence[int]) -> Sequence[Any]:
    columns = (
        ticket.c.id,
        ticket.c.uuid,
        ticket.c.contact_id,
        topic.c.uuid.label("topic_uuid"),
        topic.c.name.label("topic_name"),
        user.c.uuid.label("user_uuid"),
        user.c.email,
        USER_NAME.label("user_name"),
    )
    mine = (ticket.c.workspace_id == workspace_id) & ticket.c.id.in_(ticket_ids)
    source = select(*columns).join(topic, topic.c.id == ticket.c.topic_id)
    return tx.execute(source.outerjoin(user, user.c.id == ticket.c.assignee_id).where(mine).order_by(ticket.c.id)).all()


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


def _describe_start(tx: Transaction, workspace_id: int, flow_id: int, row: Any) -> dict[str, Any]:
    closed: dict[str, Any] = {
        "uuid": row.uuid,
        "status": "closed",
        "topic": {"uuid": row.topic_uuid, "name": row.topic_name},
    }
    if row.email is not None:
        closed["assignee"] = {"uuid": row.user_uuid, "email": row.email, "name": row.user_name.strip()}
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
