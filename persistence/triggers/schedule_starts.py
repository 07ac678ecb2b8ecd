"""Starting the flows of schedules that are due: each time becomes a start, whatever becomes of the worker."""

from datetime import datetime, time
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
    found = tx.execute(_find_due(tx).limit(BATCH)).all()
    for trigger_id, workspace_id, flow_id, due_on, repeat, days, time_of_day, timezone in found:
        create_start(tx, workspace_id, _describe_start(tx, trigger_id, flow_id))
        following = None
        if due_on is not None:
            following = find_next_due(due_on, repeat or NEVER, days, ZoneInfo(timezone), tx.now, time_of_day)
        mine = (trigger.c.workspace_id == workspace_id) & (trigger.c.id == trigger_id)
        tx.execute(update(trigger).where(mine).values(next_fire_on=following))
    return len(found) == BATCH


def _find_due(tx: Transaction) -> Select[int, int, int, datetime | None, str | None, str | None, time | None, str]:
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
