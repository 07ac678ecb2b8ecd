"""Starting the flows of schedules that are due: each time becomes a start, whatever becomes of the worker."""

from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Select, select, update

from persistence.audience import Audience
from persistence.database import Transaction
from persistence.flow_starts.flow_starts import TRIGGER, NewStart, create_start
from persistence.tables.accounts import workspace
from persistence.tables.flows import flow
from persistence.tables.triggers import trigger, trigger_contact, trigger_group
from persistence.triggers.schedules import NEVER, find_next_due
from persistence.triggers.triggers import SCHEDULE

BATCH = 20


def start_due(tx: Transaction) -> bool:
    """Makes a start of each schedule that is due, once for all the times it has missed; whether there may be more."""
    rows = tx.execute(_find_due(tx).limit(BATCH)).all()
    for row in rows:
        create_start(tx, row.workspace_id, _describe_start(tx, row))
        zone = ZoneInfo(row.timezone)
        repeat = row.repeat or NEVER
        following = find_next_due(row.next_fire_on, repeat, row.days, zone, tx.now, row.time_of_day)
        mine = (trigger.c.workspace_id == row.workspace_id) & (trigger.c.id == row.id)
        tx.execute(update(trigger).where(mine).values(next_fire_on=following))
    return len(rows) == BATCH


def _find_due(tx: Transaction) -> Select[*tuple[Any, ...]]:
    rows = trigger.c
    columns = (rows.id, rows.workspace_id, rows.flow_id, rows.next_fire_on, rows.repeat, rows.days, rows.time_of_day)
    return (
        select(*columns, workspace.c.timezone)
        .join(workspace, workspace.c.id == rows.workspace_id)
        .join(flow, flow.c.id == rows.flow_id)
        .where(rows.next_fire_on.is_not(None), rows.next_fire_on <= tx.now, rows.type == SCHEDULE)
        .where(~rows.is_archived, ~flow.c.is_archived)
        .order_by(rows.next_fire_on, rows.id)
        .with_for_update(of=trigger, skip_locked=True)
    )


def _describe_start(tx: Transaction, row: Any) -> NewStart:
    links = trigger_group.c
    of_groups = select(links.group_id, links.is_excluded).where(links.trigger_id == row.id).order_by(links.group_id)
    groups = tx.execute(of_groups).all()
    named = trigger_contact.c
    contacts = select(named.contact_id).where(named.trigger_id == row.id).order_by(named.contact_id)
    audience = Audience(
        tx.execute(contacts).scalars().all(),
        group_ids=[group_id for group_id, is_excluded in groups if not is_excluded],
        excluded_group_ids=[group_id for group_id, is_excluded in groups if is_excluded],
    )
    return NewStart(row.flow_id, TRIGGER, audience)
