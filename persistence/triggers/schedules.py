"""Schedules: calculates when they are due next in the workspace's time zone, and starts their flows. Each due time
becomes a start, even if a worker dies.
"""

import calendar
import logging
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, select, update

from persistence.attempts import GIVEN_UP, GOT_ON, begin_attempt
from persistence.audience import Audience
from persistence.database import Transaction
from persistence.flow_starts.flow_starts import TRIGGER, NewStart, create_start
from persistence.tables.accounts import workspace
from persistence.tables.flows import flow
from persistence.tables.triggers import trigger, trigger_contact, trigger_group
from persistence.triggers.triggers import SCHEDULE

logger = logging.getLogger("relayboard.worker")

NEVER, DAILY, WEEKLY, MONTHLY = REPEATS = "never", "daily", "weekly", "monthly"
WEEKDAYS = "MTWRFSU"
"""One letter for each day of the week, beginning with Monday."""
MISSED = f"A time was left out. {GIVEN_UP}"


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

    rows = trigger.c
    begun = begin_attempt(tx, trigger, _is_due(tx, workspace_id), (rows.next_fire_on, rows.id), give_up)
    return None if begun is None else begun.id


def start_due(tx: Transaction, workspace_id: int, trigger_id: int) -> bool:
    """Creates a start for a schedule that is due, one for all the times that it has missed; returns whether there may
    be more."""
    rows = trigger.c
    due = select(rows.flow_id).where(_is_due(tx, workspace_id), rows.id == trigger_id)
    flow_id = tx.execute(due.with_for_update(skip_locked=True)).scalar()
    if flow_id is not None:
        create_start(tx, workspace_id, _describe_start(tx, trigger_id, flow_id))
        _move_on(tx, workspace_id, trigger_id, error=None)
    return True


def _is_due(tx: Transaction, workspace_id: int) -> ColumnElement[bool]:
    rows = trigger.c
    living = select(flow.c.id).where(flow.c.workspace_id == workspace_id, ~flow.c.is_archived)
    mine = (rows.workspace_id == workspace_id) & (rows.type == SCHEDULE) & ~rows.is_archived
    return mine & rows.next_fire_on.is_not(None) & (rows.next_fire_on <= tx.now) & rows.flow_id.in_(living)


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
