"""How fires of campaigns are performed, once for each contact and time, if necessary late. The fires of a batch are
locked and marked in the transaction that creates their messages or their flow start: a worker that dies leaves neither,
and several workers never take the same fire.
"""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, select

from persistence.broadcasts.expansion import Wording, Writer
from persistence.campaigns.fires import (
    DatedContact,
    Timing,
    add_fires,
    choose_active,
    drop_fires,
    find_members,
    read_timings,
)
from persistence.contacts.audience import Audience
from persistence.database import Transaction
from persistence.flow_starts.flow_starts import CAMPAIGN, NewStart, create_start
from persistence.leases import GIVEN_UP, MOST_ATTEMPTS, PAUSES, Leases, is_free, list_due_workspaces
from persistence.messages.outgoing import add_outgoing
from persistence.sessions.replies import CONTACT_COLUMNS, ContactRow
from persistence.sessions.sessions import find_waiting
from persistence.statements import update
from persistence.tables.campaigns import IS_UNFIRED, PASSIVE, SKIP, campaign, campaign_event, campaign_fire
from persistence.tables.contacts import contact
from persistence.tables.flows import IS_PASSIVE, flow
from persistence.workspaces.records import find_workspace

logger = logging.getLogger("relayboard.worker")

LEASES = Leases(campaign_event, count=None)
"""Of events whose fires are performed; attempts are counted in each fire."""

BATCH = 500
SIZES = (BATCH, 25, 1)
"""How many fires are performed together that were begun so often before: what ends workers stands alone in the last of
its attempts.
"""


@dataclass(frozen=True, slots=True)
class _Fire:
    id: int
    contact_id: int
    due_on: datetime
    created_on: datetime


@dataclass(frozen=True, slots=True)
class _Batch:
    """Due fires of one event, locked, with the rows of their contacts by id (without contacts that left the group)."""

    workspace_id: int
    timing: Timing
    fires: Sequence[_Fire]
    contacts: dict[int, ContactRow]


def list_firing_workspaces(tx: Transaction) -> list[int]:
    """The workspaces with a due fire."""
    rows = campaign_fire.c
    return list_due_workspaces(tx, rows.workspace_id, IS_UNFIRED, rows.due_on <= tx.now, rows.due_on)


@dataclass(frozen=True, slots=True)
class Attempt:
    """Due fires of an event that are performed together."""

    event_id: int
    fire_ids: Sequence[int]
    until: datetime


def begin_fires(tx: Transaction, workspace_id: int) -> Attempt | None:
    """The next fires of the event of a workspace that has been due longest, after the attempt was counted in each; None
    if none is due. What was begun before without an end comes last, and in smaller parts.
    """
    fires, events = campaign_fire.c, campaign_event.c
    is_due = (fires.workspace_id == workspace_id) & IS_UNFIRED & (fires.due_on <= tx.now)
    free = is_free(events.leased_until, tx.now)
    theirs = (events.workspace_id == workspace_id) & (events.id == fires.event_id)
    oldest = select(fires.event_id).join(campaign_event, theirs).where(is_due, free)
    event_id = tx.execute(oldest.order_by(fires.due_on, fires.id).limit(1)).scalar()
    until = tx.now + PAUSES[0]
    if event_id is None or not LEASES.take_free(tx, [event_id], until):
        return None
    for attempts, size in enumerate(SIZES):
        chosen = select(fires.id).where(is_due, fires.event_id == event_id, fires.attempts == attempts)
        locked = chosen.order_by(fires.due_on, fires.id).limit(size).with_for_update(skip_locked=True)
        if ids := list(tx.execute(locked).scalars()):
            begun = update(campaign_fire).where(fires.workspace_id == workspace_id, fires.id.in_(ids))
            tx.execute(begun.values(attempts=attempts + 1))
            return Attempt(event_id, ids, until)
    _give_up(tx, workspace_id, event_id, is_due & (fires.event_id == event_id) & (fires.attempts >= MOST_ATTEMPTS))
    return Attempt(event_id, [], until)


def fire_next(tx: Transaction, workspace_id: int, attempt: Attempt) -> bool:
    """Perform these fires of an event; returns whether there may be more due."""
    batch = _take_batch(tx, workspace_id, attempt)
    moments = {
        contact_id: batch.timing.find_due(DatedContact(row.id, row.fields, row.created_on, row.last_seen_on))
        for contact_id, row in batch.contacts.items()
    }
    ripe = [one for one in batch.fires if moments.get(one.contact_id) == one.due_on]
    overtaken = [one for one in batch.fires if moments.get(one.contact_id) != one.due_on]
    left_out = _perform(tx, batch, [batch.contacts[one.contact_id] for one in ripe]) if ripe else None
    if left_out is not None:
        fired = update(campaign_fire).where(campaign_fire.c.id.in_([one.id for one in ripe]), IS_UNFIRED)
        done = {"fired_on": tx.now, "is_skipped": campaign_fire.c.contact_id.in_(left_out)}
        tx.execute(fired.where(campaign_fire.c.workspace_id == batch.workspace_id).values(**done))
    elif ripe:
        drop_fires(tx, batch.workspace_id, [one.id for one in ripe])
    if overtaken:
        _reschedule(tx, batch, overtaken, moments)
    LEASES.free(tx, [attempt.event_id], attempt.until, [workspace_id])
    return bool(batch.fires) or not attempt.fire_ids


def _give_up(tx: Transaction, workspace_id: int, event_id: int, hopeless: ColumnElement[bool]) -> None:
    fires = campaign_fire.c
    left_out = {
        row.id: row.contact_id for row in tx.execute(select(fires.id, fires.contact_id).where(hopeless).limit(BATCH))
    }
    if not left_out:
        return
    mine = update(campaign_fire).where(fires.workspace_id == workspace_id, fires.id.in_(left_out), IS_UNFIRED)
    tx.execute(mine.values(fired_on=tx.now, is_skipped=True))
    event = (campaign_event.c.workspace_id == workspace_id) & (campaign_event.c.id == event_id)
    tx.execute(update(campaign_event).where(event).values(error=f"A contact was left out. {GIVEN_UP}"))
    theirs = (contact.c.workspace_id == workspace_id) & contact.c.id.in_(left_out.values())
    who = ", ".join(tx.execute(select(contact.c.uuid).where(theirs)).scalars())
    logger.warning("campaign event %d of workspace %d left out %s: %s", event_id, workspace_id, who, GIVEN_UP)


def _take_batch(tx: Transaction, workspace_id: int, attempt: Attempt) -> _Batch:
    fires = campaign_fire.c
    mine = fires.workspace_id == workspace_id
    due = (
        select(fires.id, fires.contact_id, fires.due_on, fires.created_on)
        .where(mine, IS_UNFIRED, fires.due_on <= tx.now)
        .where(fires.event_id == attempt.event_id, fires.id.in_(attempt.fire_ids))
        .order_by(fires.due_on, fires.id)
        .with_for_update(skip_locked=True)
    )
    found = [_Fire(*row) for row in tx.execute(due)]
    ids = sorted({one.contact_id for one in found})
    free = _hold_contacts(tx, workspace_id, ids)
    if busy := [one.id for one in found if one.contact_id not in free]:
        tx.execute(update(campaign_fire).where(mine, fires.id.in_(busy)).values(attempts=0))
    own_event = (campaign_event.c.workspace_id == workspace_id) & (campaign_event.c.id == attempt.event_id)
    timing = read_timings(tx, own_event)[0]
    rows = [ContactRow(*row) for row in tx.execute(choose_active(workspace_id, ids, *CONTACT_COLUMNS))]
    members = find_members(tx, [timing.group_id], ids)
    contacts = {row.id: row for row in rows if timing.is_living and (timing.group_id, row.id) in members}
    return _Batch(workspace_id, timing, [one for one in found if one.contact_id in free], contacts)


def _hold_contacts(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> set[int]:
    """Those of these contacts that no transaction is changing, locked against deletion; the others are left for later.
    A change of a contact locks its fires afterward, so waiting for a contact while its fire is locked would be a
    deadlock.
    """
    mine = (contact.c.workspace_id == workspace_id) & contact.c.id.in_(contact_ids)
    held = select(contact.c.id).where(mine).with_for_update(read=True, key_share=True, skip_locked=True)
    return set(tx.execute(held).scalars())


def _reschedule(
    tx: Transaction, batch: _Batch, overtaken: Sequence[_Fire], moments: dict[int, datetime | None]
) -> None:
    """Replace outdated fires by the right ones, unless those were past already when they were scheduled."""
    drop_fires(tx, batch.workspace_id, [one.id for one in overtaken])
    keys = set()
    for one in overtaken:
        moment = moments.get(one.contact_id)
        if moment is not None and moment >= max(batch.timing.timed_on, one.created_on):
            keys.add((batch.timing.event_id, one.contact_id, moment))
    add_fires(tx, batch.workspace_id, keys)


def _perform(tx: Transaction, batch: _Batch, contacts: Sequence[ContactRow]) -> Collection[int] | None:
    """Send the event's message or start its flow; returns who was left out, or None if the flow has been archived. With
    the start mode skip, contacts who wait in a flow are left out, of a flow when it is started; a message never
    interrupts.
    """
    rows = campaign_event.c
    mine = (rows.workspace_id == batch.workspace_id) & (rows.id == batch.timing.event_id)
    columns = (rows.flow_id, rows.message, rows.base_language, rows.start_mode)
    flow_id, text, base_language, start_mode = tx.execute(select(*columns).where(mine)).one()
    if flow_id is not None:
        return () if _start_flow(tx, batch, flow_id, start_mode, [one.id for one in contacts]) else None
    workspace = find_workspace(tx, batch.workspace_id)
    assert workspace is not None
    assert base_language is not None, "an event without a flow has a message"
    busy: Collection[int] = ()
    if start_mode == SKIP:
        busy = find_waiting(tx, workspace.id, [one.id for one in contacts])
        contacts = [one for one in contacts if one.id not in busy]
    add_outgoing(tx, workspace.id, Writer(tx, workspace, Wording(text, base_language), contacts).write())
    return busy


def _start_flow(tx: Transaction, batch: _Batch, flow_id: int, start_mode: str, contact_ids: Sequence[int]) -> bool:
    """Start these contacts in the event's flow, with the value of `@trigger.campaign`."""
    mine = (flow.c.workspace_id == batch.workspace_id) & (flow.c.id == flow_id)
    if tx.execute(select(flow.c.is_archived).where(mine)).scalar_one():
        return False
    event = select(campaign.c.uuid, campaign.c.name, campaign_event.c.uuid).where(
        campaign.c.workspace_id == batch.workspace_id,
        campaign.c.id == campaign_event.c.campaign_id,
        campaign_event.c.id == batch.timing.event_id,
    )
    campaign_uuid, name, uuid = tx.execute(event).one()
    fired = {"type": "campaign_fired", "campaign": {"uuid": campaign_uuid, "name": name}, "point_uuid": uuid}
    passive = {IS_PASSIVE: True} if start_mode == PASSIVE else {}
    new = NewStart(
        flow_id, CAMPAIGN, Audience(contact_ids), exclude_active=start_mode == SKIP, parent={"event": fired} | passive
    )
    create_start(tx, batch.workspace_id, new)
    return True
