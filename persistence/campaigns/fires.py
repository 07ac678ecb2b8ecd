"""Fires: what campaign events will do for each contact, and what they have done. A fire without `fired_on` is
scheduled. Transactions that change contacts and groups also update the fires of their contacts. Times are calculated
again before a fire is performed, so an outdated fire does no harm.

Passes: rescheduling an event for all its contacts, a batch at a time. The event's row says that a pass is due and
stores its progress, in the same transaction as each batch.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, Executable, Select, case, delete, func, literal, null, select, true, union

from flows.environment import parse_moment
from persistence.database import Transaction, delete_old
from persistence.leases import GIVEN_UP, MOST_ATTEMPTS, Leases
from persistence.sql.columns import UtcDateTime, split
from persistence.statements import among, statement, update
from persistence.tables.accounts import workspace
from persistence.tables.campaigns import IS_UNFIRED, LIVING_EVENT, campaign, campaign_event, campaign_fire
from persistence.tables.contacts import ACTIVE, contact, field, group_membership

UNITS = "minutes", "hours", "days", "weeks"
MINUTES, HOURS, DAYS, _ = UNITS
SAME_TIME = -1
MINUTE = timedelta(minutes=1)
KEPT_FOR = timedelta(days=90)
CONTACTS_PER_STATEMENT = 500

_TIMINGS: Select[*tuple[Any, ...]] = (
    select(
        campaign_event.c.id,
        campaign.c.group_id,
        campaign_event.c.relative_to,
        field.c.uuid,
        campaign_event.c.offset,
        campaign_event.c.unit,
        campaign_event.c.delivery_hour,
        campaign_event.c.timed_on,
        workspace.c.timezone,
        LIVING_EVENT,
    )
    .join(campaign, campaign.c.id == campaign_event.c.campaign_id)
    .join(workspace, workspace.c.id == campaign_event.c.workspace_id)
    .outerjoin(
        field, (field.c.workspace_id == campaign_event.c.workspace_id) & (field.c.key == campaign_event.c.relative_to)
    )
    .order_by(campaign_event.c.id)
)

logger = logging.getLogger("relayboard.worker")

BATCH = 500
UNSCHEDULED = f"Its contacts are not all scheduled; saving it again tries anew. {GIVEN_UP}"
WAKE = "campaigns"
PASS_GOT_ON: dict[str, Any] = {"attempts": 0, "pass_until": None}
PASSES = Leases(
    campaign_event,
    campaign_event.c.scheduling_since.is_not(None),
    campaign_event.c.scheduling_since,
    campaign_event.c.id,
    until="pass_until",
)


@dataclass(frozen=True, slots=True)
class DatedContact:
    """The dates of a contact from which times are calculated."""

    id: int
    fields: Mapping[str, Any]
    created_on: datetime
    last_seen_on: datetime | None


def _round_up(base: datetime, zone: ZoneInfo) -> datetime:
    """The time in a time zone, rounded up to the next full minute."""
    local = base.astimezone(zone)
    begun = timedelta(seconds=local.second, microseconds=local.microsecond)
    if not begun:
        return local
    return (local.astimezone(UTC) + MINUTE - begun).astimezone(zone)


@dataclass(frozen=True, slots=True)
class Timing:
    """When an event fires for the members of a group. `field_uuid` is None for dates that every contact has."""

    event_id: int
    group_id: int | None
    relative_to: str
    field_uuid: str | None
    offset: int
    unit: str
    delivery_hour: int
    timed_on: datetime
    timezone: str
    is_living: bool

    def find_due(self, dated: DatedContact) -> datetime | None:
        """The time for a contact, None if it has no such date."""
        if self.field_uuid is None:
            base = {"created_on": dated.created_on, "last_seen_on": dated.last_seen_on}.get(self.relative_to)
        else:
            stored = (dated.fields.get(self.field_uuid) or {}).get("datetime")
            base = None if stored is None else parse_moment(stored)
        if base is None:
            return None
        return find_due_moment(base, self.offset, self.unit, self.delivery_hour, ZoneInfo(self.timezone))


def read_timings(tx: Transaction, *conditions: ColumnElement[bool]) -> list[Timing]:
    """The timings of events; conditions may use `campaign_event` and `campaign`. One statement."""
    return [Timing(*row) for row in tx.execute(_TIMINGS.where(*conditions))]


@statement
def _select_timings_of(workspace_id: int, contact_ids: Sequence[int]) -> Executable:
    theirs = select(group_membership.c.group_id).where(among(group_membership.c.contact_id, contact_ids))
    mine = campaign_event.c.workspace_id == workspace_id
    return _TIMINGS.where(mine, LIVING_EVENT, campaign.c.group_id.in_(theirs))


def schedule_contacts(tx: Transaction, workspace_id: int, contact_ids: Iterable[int]) -> None:
    """Update the fires of contacts after a change, for the groups of these contacts. Call it in the transaction that
    changes contacts. One statement if none of them is in a campaign's group.
    """
    for some in split(sorted(set(contact_ids)), CONTACTS_PER_STATEMENT):
        timings = [Timing(*row) for row in _select_timings_of.rows(tx, workspace_id, some)]
        if timings:
            update_fires(tx, workspace_id, timings, some, since=tx.now)


def unschedule_contacts(
    tx: Transaction, workspace_id: int, contact_ids: Sequence[int], *, group_id: int | None = None
) -> None:
    """Delete the scheduled fires of contacts that left a group, or all groups."""
    theirs = (campaign_fire.c.workspace_id == workspace_id) & campaign_fire.c.contact_id.in_(contact_ids) & IS_UNFIRED
    if group_id is not None:
        events = (
            select(campaign_event.c.id)
            .join(campaign, campaign.c.id == campaign_event.c.campaign_id)
            .where(campaign.c.workspace_id == workspace_id, campaign.c.group_id == group_id)
        )
        theirs &= campaign_fire.c.event_id.in_(events)
    if contact_ids:
        tx.execute(delete(campaign_fire).where(theirs))


def update_fires(
    tx: Transaction, workspace_id: int, timings: Sequence[Timing], contact_ids: Sequence[int], *, since: datetime
) -> None:
    """Schedule the right fires of these events and contacts and delete wrong ones; five statements at most. Times
    before `since` are past and not scheduled; a late fire that was scheduled in time stays.
    """
    # Fires are read before contacts, so that a fire that a concurrent change is about to add is not deleted here.
    event_ids = [timing.event_id for timing in timings]
    fires = campaign_fire.c
    held = select(fires.id, fires.event_id, fires.contact_id, fires.due_on).where(
        fires.workspace_id == workspace_id, fires.event_id.in_(event_ids), fires.contact_id.in_(contact_ids), IS_UNFIRED
    )
    present = {(event_id, contact_id, due): fire_id for fire_id, event_id, contact_id, due in tx.execute(held)}
    wanted = _find_wanted(tx, workspace_id, timings, contact_ids)
    overtaken = [fire_id for key, fire_id in present.items() if key not in wanted]
    if overtaken:
        drop_fires(tx, workspace_id, overtaken)
    add_fires(tx, workspace_id, [key for key in wanted if key not in present and key[2] >= since])


def choose_active(workspace_id: int, contact_ids: Sequence[int], *columns: ColumnElement[Any]) -> Select[Any]:
    """Those of these contacts for which events may fire."""
    mine = (contact.c.workspace_id == workspace_id) & contact.c.id.in_(contact_ids)
    return select(*columns).where(mine, contact.c.status == ACTIVE, ~contact.c.is_deleted)


def find_members(
    tx: Transaction, group_ids: Iterable[int | None], contact_ids: Sequence[int]
) -> set[tuple[int | None, int]]:
    """Which of these contacts are in which of these groups."""
    rows = group_membership.c
    ids = [group_id for group_id in group_ids if group_id is not None]
    found = select(rows.group_id, rows.contact_id).where(rows.group_id.in_(ids), rows.contact_id.in_(contact_ids))
    return {(group_id, contact_id) for group_id, contact_id in tx.execute(found)}


def add_fires(tx: Transaction, workspace_id: int, keys: Iterable[tuple[int, int, datetime]]) -> None:
    """Schedule each (event, contact, time) that has been neither scheduled nor fired."""
    rows: list[Mapping[str, Any]] = [
        {
            "workspace_id": workspace_id,
            "event_id": event_id,
            "contact_id": contact_id,
            "due_on": due,
            "created_on": tx.now,
        }
        for event_id, contact_id, due in sorted(keys)
    ]
    if rows:
        tx.execute(tx.upsert(campaign_fire).on_conflict_do_nothing(), rows)


def drop_fires(tx: Transaction, workspace_id: int, fire_ids: Sequence[int]) -> None:
    """Delete scheduled fires; fires that were performed meanwhile stay."""
    mine = (campaign_fire.c.workspace_id == workspace_id) & campaign_fire.c.id.in_(fire_ids)
    tx.execute(delete(campaign_fire).where(mine, IS_UNFIRED))


def drop_past_fires(tx: Transaction, workspace_id: int, campaign_id: int) -> None:
    """Delete what events of a campaign that is restored had scheduled before it was archived, and did not do."""
    fires = campaign_fire.c
    events = select(campaign_event.c.id).where(campaign_event.c.campaign_id == campaign_id)
    late = select(fires.id).where(fires.event_id.in_(events), IS_UNFIRED, fires.due_on <= tx.now)
    # A worker that holds some of them found the campaign archived, and drops them itself.
    free = late.where(fires.workspace_id == workspace_id).with_for_update(skip_locked=True)
    tx.execute(delete(campaign_fire).where(fires.workspace_id == workspace_id, fires.id.in_(free)))


def trim_fires(tx: Transaction, limit: int) -> int:
    """Delete fires that were performed longer than KEPT_FOR ago; returns their number. Past times are not scheduled
    again."""
    return delete_old(tx, campaign_fire.c.fired_on, KEPT_FOR, limit)


def find_due_moment(base: datetime, offset: int, unit: str, delivery_hour: int, zone: ZoneInfo) -> datetime | None:
    """The time in UTC that is `offset` units after `base`, an aware datetime rounded up to the full minute. A
    `delivery_hour` of 0 to 23 moves it to that hour of its day, -1 keeps the time. None if the result is out of range.
    Minutes and hours are exact durations; days and weeks keep the time of day in the workspace's time zone. A time of
    day that clocks skip moves on by the gap; one that occurs twice means the first of the two.
    """
    try:
        moved = _round_up(base, zone)
        if unit in (MINUTES, HOURS):
            moved = (moved.astimezone(UTC) + timedelta(**{unit: offset})).astimezone(zone)
        elif offset:
            moved += timedelta(**{unit: offset})
        if delivery_hour != SAME_TIME:
            moved = datetime.combine(moved.date(), time(delivery_hour), zone)
        return moved.astimezone(UTC)
    except OverflowError:
        return None


def request_passes(
    tx: Transaction, workspace_id: int, *conditions: ColumnElement[bool], is_retimed: bool = False
) -> None:
    """Request rescheduling, for all contacts, of the events that meet the conditions on `campaign` and
    `campaign_event`. `is_retimed`: their time settings have just changed, so only times from now on count.
    """
    chosen = (
        select(campaign_event.c.id)
        .join(campaign, campaign.c.id == campaign_event.c.campaign_id)
        .where(campaign.c.workspace_id == workspace_id, ~campaign_event.c.is_deleted, *conditions)
    )
    since = func.coalesce(campaign_event.c.scheduling_since, literal(tx.now, UtcDateTime))
    was_given_up = campaign_event.c.attempts >= MOST_ATTEMPTS
    values: dict[str, Any] = {"scheduling_since": since, "scheduling_after_id": 0, **PASS_GOT_ON}
    values["error"] = case((was_given_up, null()), else_=campaign_event.c.error)
    if is_retimed:
        values |= {"scheduling_since": tx.now, "timed_on": tx.now}
    mine = (campaign_event.c.workspace_id == workspace_id) & campaign_event.c.id.in_(chosen)
    if tx.execute(update(campaign_event).where(mine).values(**values)).rowcount:
        tx.wake(WAKE)


def list_rescheduling_workspaces(tx: Transaction) -> list[int]:
    """The workspaces with an event for which a pass is due; there are few."""
    due = campaign_event.c.scheduling_since.is_not(None)
    return list(tx.execute(select(campaign_event.c.workspace_id).where(due).distinct()).scalars())


def begin_pass(tx: Transaction, workspace_id: int) -> int | None:
    """The event of a workspace whose pass has waited longest, after this was counted as an attempt; None if none is
    due. A pass that was begun too often without getting on is given up."""
    columns = campaign_event.c

    def give_up(tx: Transaction, event_id: int) -> None:
        mine = (columns.workspace_id == workspace_id) & (columns.id == event_id)
        logger.error("campaign event %d of workspace %d: %s", event_id, workspace_id, UNSCHEDULED)
        tx.execute(update(campaign_event).where(mine).values(scheduling_since=None, error=UNSCHEDULED))

    return PASSES.take_next(tx, workspace_id, give_up)


def run_next_pass(tx: Transaction, workspace_id: int, event_id: int | None = None) -> bool:
    """Schedule the next contacts of an event, or of the one of a workspace that has waited longest; returns whether
    there may be more."""
    columns = campaign_event.c
    chosen = true() if event_id is None else columns.id == event_id
    due = (
        select(columns.id, columns.scheduling_since, columns.scheduling_after_id)
        .where(columns.workspace_id == workspace_id, columns.scheduling_since.is_not(None), chosen)
        .order_by(columns.scheduling_since, columns.id)
        .limit(1)
        # A weak lock, so that others can schedule single contacts meanwhile.
        .with_for_update(skip_locked=True, key_share=True)
    )
    row = tx.execute(due).first()
    if row is None:
        return False
    event_id, since, after_id = row
    mine = (columns.workspace_id == workspace_id) & (columns.id == event_id)
    timings = read_timings(tx, mine)
    ids = tx.execute(_choose_contacts(timings[0], after_id)).scalars().all()
    if ids and since is not None:
        update_fires(tx, workspace_id, timings, ids, since=since)
    values = {"scheduling_after_id": ids[-1]} if len(ids) == BATCH else {"scheduling_since": None}
    tx.execute(update(campaign_event).where(mine).values(**PASS_GOT_ON, **values))
    return True


def _find_wanted(
    tx: Transaction, workspace_id: int, timings: Sequence[Timing], contact_ids: Sequence[int]
) -> set[tuple[int, int, datetime]]:
    columns = (contact.c.id, contact.c.fields, contact.c.created_on, contact.c.last_seen_on)
    contacts = [DatedContact(*row) for row in tx.execute(choose_active(workspace_id, contact_ids, *columns))]
    members = find_members(tx, {timing.group_id for timing in timings}, contact_ids)
    wanted = set()
    for timing in timings:
        for each in contacts:
            due = timing.find_due(each) if timing.is_living and (timing.group_id, each.id) in members else None
            if due is not None:
                wanted.add((timing.event_id, each.id, due))
    return wanted


def _choose_contacts(timing: Timing, after_id: int) -> Select[Any]:
    """The next contacts that are members of the group or have scheduled fires."""
    fires = campaign_fire.c
    scheduled = select(fires.contact_id).where(
        fires.event_id == timing.event_id, IS_UNFIRED, fires.contact_id > after_id
    )
    parts = [_cut(scheduled, fires.contact_id)]
    if timing.is_living:
        rows = group_membership.c
        members = select(rows.contact_id).where(rows.group_id == timing.group_id, rows.contact_id > after_id)
        parts.append(_cut(members, rows.contact_id))
    both = union(*parts).subquery()
    return select(both.c.contact_id).order_by(both.c.contact_id).limit(BATCH)


def _cut(source: Select[Any], column: ColumnElement[int]) -> Select[Any]:
    # Only in subqueries can the parts of a union have limits on every database.
    first = source.distinct().order_by(column).limit(BATCH).subquery()
    return select(first.c.contact_id)
