"""What comes by itself in a workspace: schedules, campaign events and broadcasts, in the order of time."""

from collections import Counter
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import select

from persistence.broadcasts.records import WAITS, When, find_times
from persistence.database import Transaction
from persistence.repeating import NEVER, find_next_due
from persistence.sql.columns import time_text
from persistence.tables.campaigns import IS_UNFIRED, LIVING_EVENT, campaign, campaign_event, campaign_fire, trigger
from persistence.tables.flows import flow
from persistence.tables.messages import broadcast
from persistence.tokens import Areas, covers
from persistence.triggers.records import SCHEDULE
from persistence.workspaces.records import Workspace

MOST_SCHEDULES = 250
MOST_BROADCASTS = 250
MOST_FIRES = 10_000
MOST_TIMES = 92
"""Of one broadcast: daily for as long as can be asked for."""

Item = dict[str, Any]


def read_calendar(tx: Transaction, workspace: Workspace, days: int, areas: Areas = None) -> dict[str, Any]:
    """What is due within so many days and belongs to one of these areas, in the order of time; three statements.
    Campaign events of a day, by the time zone of the workspace, are one item, with the number of contacts among the
    first MOST_FIRES that are due.
    """
    until = tx.now + timedelta(days=days)
    items: list[Item] = []
    is_exact = True
    if covers(areas, "flows"):
        items += _find_schedules(tx, workspace, until)
    if covers(areas, "campaigns"):
        fires, is_exact = _find_fires(tx, workspace, until)
        items += fires
    if covers(areas, "messages"):
        items += _find_broadcasts(tx, workspace, until)
    return {"items": sorted(items, key=lambda item: (item["time"], item["uuid"])), "is_exact": is_exact}


def _item(kind: str, uuid: str, moment: datetime, **more: Any) -> Item:
    return {"type": kind, "uuid": uuid, "time": time_text(moment), "flow": None, "name": None, "contacts": None} | more


def _find_schedules(tx: Transaction, workspace: Workspace, until: datetime) -> list[Item]:
    """Each time at which a schedule starts its flow."""
    rows = trigger.c
    columns = (rows.uuid, rows.next_fire_on, rows.repeat, rows.days, rows.time_of_day)
    source = trigger.join(flow, (flow.c.id == rows.flow_id) & (flow.c.workspace_id == rows.workspace_id))
    due = (rows.workspace_id == workspace.id) & rows.next_fire_on.is_not(None) & (rows.next_fire_on <= until)
    living = (rows.type == SCHEDULE) & ~rows.is_archived & ~flow.c.is_archived
    found = select(*columns, flow.c.uuid.label("flow_uuid"), flow.c.name).select_from(source).where(due, living)
    zone, items = ZoneInfo(workspace.timezone), []
    for row in tx.execute(found.order_by(rows.next_fire_on, rows.id).limit(MOST_SCHEDULES)):
        moment: datetime | None = row.next_fire_on
        while moment is not None and moment <= until:
            items.append(_item("schedule", row.uuid, moment, flow={"uuid": row.flow_uuid, "name": row.name}))
            moment = find_next_due(moment, row.repeat or NEVER, row.days, zone, moment, row.time_of_day)
    return items


def _find_fires(tx: Transaction, workspace: Workspace, until: datetime) -> tuple[list[Item], bool]:
    fires = campaign_fire.c
    due = (fires.workspace_id == workspace.id) & IS_UNFIRED & (fires.due_on <= until)
    first = select(fires.event_id, fires.due_on).where(due).order_by(fires.due_on, fires.id).limit(MOST_FIRES + 1)
    zone = ZoneInfo(workspace.timezone)
    counts: Counter[tuple[int, date]] = Counter()
    begins: dict[tuple[int, date], datetime] = {}
    for event_id, due_on in tx.execute(first):
        place = (event_id, due_on.astimezone(zone).date())
        counts[place] += 1
        begins.setdefault(place, due_on)
    events = campaign_event.c
    own = (events.workspace_id == workspace.id) & events.id.in_({event_id for event_id, _ in counts}) & LIVING_EVENT
    theirs = (campaign.c.id == events.campaign_id) & (campaign.c.workspace_id == events.workspace_id)
    started = (flow.c.id == events.flow_id) & (flow.c.workspace_id == events.workspace_id)
    source = campaign_event.join(campaign, theirs).outerjoin(flow, started)
    columns = (events.id, events.uuid, campaign.c.name, flow.c.uuid.label("flow_uuid"), flow.c.name.label("flow_name"))
    known = {row.id: row for row in tx.execute(select(*columns).select_from(source).where(own))}
    items = []
    for (event_id, day), count in counts.items():
        row = known.get(event_id)
        if row is not None:
            started_flow = {"uuid": row.flow_uuid, "name": row.flow_name} if row.flow_uuid else None
            more = {"name": row.name, "flow": started_flow, "contacts": count}
            items.append(_item("campaign_event", row.uuid, begins[event_id, day], **more))
    return items, sum(counts.values()) <= MOST_FIRES


def _find_broadcasts(tx: Transaction, workspace: Workspace, until: datetime) -> list[Item]:
    """Each time at which a broadcast is sent."""
    rows = broadcast.c
    mine = (rows.workspace_id == workspace.id) & WAITS & (rows.scheduled_on > tx.now) & (rows.scheduled_on <= until)
    columns = (rows.uuid, rows.text, rows.base_language, rows.repeated, *(rows[name] for name in When._fields))
    found = select(*columns).where(mine).order_by(rows.scheduled_on, rows.id).limit(MOST_BROADCASTS)
    return [
        _item("broadcast", row.uuid, moment, name=(row.text or {}).get(row.base_language, "")[:100])
        for row in tx.execute(found)
        for moment in find_times(workspace, When.of(row), row.repeated, most=MOST_TIMES, upto=until)
    ]
