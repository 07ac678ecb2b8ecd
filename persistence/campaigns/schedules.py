"""What campaigns will do: how many contacts each event of a campaign has on the coming days, and what one contact gets
of all campaigns.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Row, func, select

from persistence.campaigns.fires import DatedContact, Timing, choose_active, read_timings
from persistence.campaigns.records import CAMPAIGN_EVENT_SOURCE, RELATIVE_NAME, living_events_of
from persistence.contacts.owners import find_contact
from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.sql.columns import time_text
from persistence.sql.names import require_id
from persistence.tables.campaigns import IS_UNFIRED, LIVING_EVENT, campaign, campaign_event, campaign_fire
from persistence.tables.contacts import contact, group_membership
from persistence.tables.flows import flow
from persistence.workspaces.records import Workspace

MOST_COUNTED = 100_000
MOST_ITEMS = 250
TEXT_LENGTH = 100

SCHEDULED, FIRED, SKIPPED, PAST, UNDATED = "scheduled", "fired", "skipped", "past", "undated"
"""What became of an event for a contact. `past`: its time had passed when it could have been scheduled, or it fired
longer ago than fires are kept."""

Item = dict[str, Any]


def read_campaign_figures(tx: Transaction, workspace: Workspace, uuid: str, days: int) -> dict[str, Any]:
    """How many contacts each event of a campaign has on each of the next days by the workspace's time zone, today
    included, with what is late; among the first MOST_COUNTED. Two statements. Raises RecordMissing.
    """
    campaign_id = require_id(tx, workspace.id, campaign, uuid)
    zone, fires = ZoneInfo(workspace.timezone), campaign_fire.c
    today = tx.now.astimezone(zone).date()
    until = datetime.combine(today + timedelta(days=days), time(), zone).astimezone(UTC)
    theirs = select(campaign_event.c.id).where(
        campaign_event.c.campaign_id == campaign_id, *living_events_of(workspace.id)
    )
    due = (fires.workspace_id == workspace.id) & fires.event_id.in_(theirs) & IS_UNFIRED & (fires.due_on < until)
    first = select(fires.event_id, fires.due_on).where(due).order_by(fires.due_on, fires.id)
    some = first.limit(MOST_COUNTED + 1).subquery()
    event = campaign_event.join(some, some.c.event_id == campaign_event.c.id)
    columns = (campaign_event.c.uuid, some.c.due_on)
    counts: Counter[tuple[date, str]] = Counter()
    grouped = select(*columns, func.count()).select_from(event).group_by(*columns)
    for event_uuid, due_on, number in tx.execute(grouped):
        counts[max(due_on.astimezone(zone).date(), today), event_uuid] += number
    results = [
        {"event": event_uuid, "day": day.isoformat(), "contacts": number}
        for (day, event_uuid), number in sorted(counts.items())
    ]
    return {"results": results, "is_exact": counts.total() <= MOST_COUNTED}


def read_contact_schedule(tx: Transaction, workspace_id: int, uuid: str) -> dict[str, Any]:
    """What campaigns do for a contact, the latest first, and what has no time last: at most MOST_ITEMS. It takes five
    statements. Raises RecordMissing.
    """
    contact_id = find_contact(tx, workspace_id, uuid)
    if contact_id is None:
        raise RecordMissing
    found = _list_fires(tx, workspace_id, contact_id)
    known = {(row.event_id, row.due_on) for row in found}
    has_event = {row.event_id for row in found}
    items = [(row.due_on, row.event_id, _state_of(row)) for row in found]
    for timing, due in _find_times(tx, workspace_id, contact_id):
        if due is None and timing.event_id not in has_event:
            items.append((None, timing.event_id, UNDATED))
        elif due is not None and (timing.event_id, due) not in known:
            items.append((due, timing.event_id, PAST if due < tx.now else SCHEDULED))
    dated = sorted((each for each in items if each[0] is not None), key=lambda each: each[:2], reverse=True)
    shown = [*dated, *(each for each in items if each[0] is None)]
    events = _describe(tx, workspace_id, [event_id for _, event_id, _ in shown[:MOST_ITEMS]])
    results = [
        {**events[event_id], "time": None if moment is None else time_text(moment), "status": status}
        for moment, event_id, status in shown[:MOST_ITEMS]
    ]
    return {"results": results, "is_exact": len(shown) <= MOST_ITEMS}


def _list_fires(tx: Transaction, workspace_id: int, contact_id: int) -> list[Row[int, datetime, datetime | None, bool]]:
    """What is scheduled for a contact and what was done, the latest first."""
    fires = campaign_fire.c
    mine = (fires.workspace_id == workspace_id) & (fires.contact_id == contact_id)
    source = campaign_fire.join(campaign_event, campaign_event.c.id == fires.event_id).join(campaign)
    rows = select(fires.event_id, fires.due_on, fires.fired_on, fires.is_skipped).select_from(source)
    shown = rows.where(mine, fires.fired_on.is_not(None) | LIVING_EVENT)
    return list(tx.execute(shown.order_by(fires.due_on.desc(), fires.id.desc()).limit(MOST_ITEMS + 1)))


def _state_of(fire: Row[int, datetime, datetime | None, bool]) -> str:
    if fire.fired_on is None:
        return SCHEDULED
    return SKIPPED if fire.is_skipped else FIRED


def _find_times(tx: Transaction, workspace_id: int, contact_id: int) -> list[tuple[Timing, datetime | None]]:
    """When the events of the contact's campaigns are due by its dates; nothing for a contact who is not active."""
    columns = (contact.c.id, contact.c.fields, contact.c.created_on, contact.c.last_seen_on)
    row = tx.execute(choose_active(workspace_id, [contact_id], *columns)).first()
    groups = select(group_membership.c.group_id).where(group_membership.c.contact_id == contact_id)
    timings = read_timings(
        tx, campaign_event.c.workspace_id == workspace_id, LIVING_EVENT, campaign.c.group_id.in_(groups)
    )
    return [] if row is None else [(timing, timing.find_due(DatedContact(*row))) for timing in timings]


def _describe(tx: Transaction, workspace_id: int, event_ids: Sequence[int]) -> Mapping[int, Item]:
    rows = campaign_event.c
    columns = (
        *(rows.id, rows.uuid, rows.relative_to, rows.offset, rows.unit, rows.delivery_hour, rows.message),
        *(rows.base_language, RELATIVE_NAME.label("relative_name")),
        *(campaign.c.uuid.label("campaign_uuid"), campaign.c.name.label("campaign_name")),
        *(flow.c.uuid.label("flow_uuid"), flow.c.name.label("flow_name")),
    )
    found = select(*columns).select_from(CAMPAIGN_EVENT_SOURCE)
    described = tx.execute(found.where(rows.workspace_id == workspace_id, rows.id.in_(set(event_ids))))
    return {
        row.id: {
            "campaign": {"uuid": row.campaign_uuid, "name": row.campaign_name},
            "event": row.uuid,
            "relative_to": {"key": row.relative_to, "name": row.relative_name, "label": row.relative_name},
            "offset": row.offset,
            "unit": row.unit,
            "delivery_hour": row.delivery_hour,
            "flow": {"uuid": row.flow_uuid, "name": row.flow_name} if row.flow_uuid else None,
            "text": (row.message or {}).get(row.base_language, "")[:TEXT_LENGTH] or None,
        }
        for row in described
    }
