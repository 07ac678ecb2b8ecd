"""Schedules: calculates when they are due next in the workspace's time zone, and starts their flows. Each due time
becomes a start, even if a worker dies.
"""

import calendar
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import Select, select, update

from persistence.audience import Audience
from persistence.database import Transaction
from persistence.flow_starts.flow_starts import TRIGGER, NewStart, create_start
from persistence.tables.accounts import workspace
from persistence.tables.flows import flow
from persistence.tables.triggers import trigger, trigger_contact, trigger_group
from persistence.triggers.triggers import SCHEDULE

NEVER, DAILY, WEEKLY, MONTHLY = REPEATS = "never", "daily", "weekly", "monthly"
WEEKDAYS = "MTWRFSU"
"""One letter for each day of the week, beginning with Monday."""
BATCH = 20


def list_scheduling_workspaces(tx: Transaction) -> list[int]:
    """The workspaces with a trigger that is due, of which there are few."""
    rows = trigger.c
    due = select(rows.workspace_id).where(rows.next_fire_on.is_not(None), rows.next_fire_on <= tx.now)
    return list(tx.execute(due.distinct()).scalars())


def start_due(tx: Transaction, workspace_id: int) -> bool:
    """Creates a start for each due schedule of a workspace, one for all the times that it has missed; returns whether
    there may be more."""
    found = tx.execute(_find_due(tx, workspace_id).limit(BATCH)).all()
    for trigger_id, flow_id, due_on, repeat, days, time_of_day, timezone in found:
        create_start(tx, workspace_id, _describe_start(tx, trigger_id, flow_id))
        following = None
        if due_on is not None:
            following = find_next_due(due_on, repeat or NEVER, days, ZoneInfo(timezone), tx.now, time_of_day)
        mine = (trigger.c.workspace_id == workspace_id) & (trigger.c.id == trigger_id)
        tx.execute(update(trigger).where(mine).values(next_fire_on=following))
    return len(found) == BATCH


def _find_due(
    tx: Transaction, workspace_id: int
) -> Select[int, int, datetime | None, str | None, str | None, time | None, str]:
    rows = trigger.c
    columns = (rows.id, rows.flow_id, rows.next_fire_on, rows.repeat, rows.days, rows.time_of_day)
    return (
        select(*columns, workspace.c.timezone)
        .join(workspace, workspace.c.id == rows.workspace_id)
        .join(flow, (flow.c.id == rows.flow_id) & (flow.c.workspace_id == rows.workspace_id))
        .where(
            rows.workspace_id == workspace_id,
            rows.next_fire_on.is_not(None),
            rows.next_fire_on <= tx.now,
            rows.type == SCHEDULE,
        )
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


def find_next_due(
    due_on: datetime, repeat: str, days: str | None, zone: ZoneInfo, after: datetime, time_of_day: time | None = None
) -> datetime | None:
    """The first time after `after` when a schedule that was due at `due_on` is due again; None if never. The local time
    of day stays the same: `time_of_day`, by default the one of `due_on`. They differ if clocks skip that hour on the
    day of `due_on`. `days` are the letters of the weekdays of a weekly schedule, and the day of the month of a monthly
    one, which in shorter months is the last day.
    """
    if repeat == NEVER:
        return None
    local = due_on.astimezone(zone)
    clock = local.time() if time_of_day is None else time_of_day
    start = max(local, after.astimezone(zone) - timedelta(days=1))
    day = start.date()
    while True:
        moment = datetime.combine(day, clock, zone).astimezone(UTC)
        if moment > after and moment > due_on and _is_its_day(day.year, day.month, day.day, repeat, days or ""):
            return moment
        day += timedelta(days=1)


def _is_its_day(year: int, month: int, day: int, repeat: str, days: str) -> bool:
    if repeat == WEEKLY:
        return WEEKDAYS[calendar.weekday(year, month, day)] in days
    if repeat == MONTHLY:
        return day == min(int(days), calendar.monthrange(year, month)[1])
    return True
