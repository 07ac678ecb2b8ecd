"""Passes: rescheduling an event for all its contacts, a batch at a time. The event's row says that a pass is due and
stores its progress, in the same transaction as each batch.
"""

import logging
from typing import Any

from sqlalchemy import ColumnElement, Select, case, func, literal, null, select, true, union, update

from persistence.attempts import GIVEN_UP, MOST_ATTEMPTS, begin_attempt
from persistence.campaigns.fires import Timing, read_timings, update_fires
from persistence.database import Transaction
from persistence.sql.columns import UtcDateTime
from persistence.tables.campaigns import IS_UNFIRED, campaign, campaign_event, campaign_fire
from persistence.tables.contacts import group_membership

logger = logging.getLogger("relayboard.worker")

BATCH = 500
UNSCHEDULED = f"Its contacts are not all scheduled; saving it again tries anew. {GIVEN_UP}"
WAKE = "campaigns"
PASS_GOT_ON: dict[str, Any] = {"attempts": 0, "pass_until": None}


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

    due = (columns.workspace_id == workspace_id) & columns.scheduling_since.is_not(None)
    order = (columns.scheduling_since, columns.id)
    begun = begin_attempt(tx, campaign_event, due, order, give_up, until="pass_until")
    return None if begun is None else begun.id


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
