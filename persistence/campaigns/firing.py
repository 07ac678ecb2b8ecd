"""Performs due fires, once for each contact and time, if necessary late. The fires of a batch are locked and marked in
the transaction that creates their messages or their flow start: a worker that dies leaves neither, and several workers
never take the same fire.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, or_, select, true, update

from persistence.attempts import GIVEN_UP, GOT_ON, MOST_ATTEMPTS, PAUSES
from persistence.audience import Audience
from persistence.broadcasts.personal_texts import Wording, Writer
from persistence.campaigns.fires import (
    DatedContact,
    Timing,
    add_fires,
    choose_active,
    drop_fires,
    find_members,
    read_timings,
)
from persistence.database import Transaction
from persistence.flow_starts.flow_starts import CAMPAIGN, NewStart, create_start
from persistence.messages.outgoing import add_outgoing
from persistence.sessions.contacts import CONTACT_COLUMNS, ContactRow
from persistence.sessions.waiting import find_waiting
from persistence.sql.due_work import list_due_workspaces
from persistence.tables.campaigns import IS_UNFIRED, PASSIVE, SKIP, campaign, campaign_event, campaign_fire
from persistence.tables.contacts import contact
from persistence.tables.flow_starts import IS_PASSIVE
from persistence.tables.flows import flow
from persistence.workspaces import find_workspace

logger = logging.getLogger("relayboard.worker")

BATCH = 500


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
    """An event whose fires are due; after an attempt that did not get on, only one of its fires."""

    event_id: int
    fire_id: int | None = None


def begin_fires(tx: Transaction, workspace_id: int) -> Attempt | None:
    """The event of a workspace that has been due longest, after this was counted as an attempt; None if none is due.
    Fires of an event that did not get on are performed one by one: only those that end workers are given up.
    """
    fires = campaign_fire.c
    is_due = (fires.workspace_id == workspace_id) & IS_UNFIRED & (fires.due_on <= tx.now)
    events = campaign_event.c
    free = or_(events.leased_until.is_(None), events.leased_until <= tx.now)
    mine = (events.workspace_id == workspace_id) & (events.id == fires.event_id)
    oldest = select(fires.event_id, events.attempts).join(campaign_event, mine).where(is_due, free)
    found = tx.execute(oldest.order_by(fires.due_on, fires.id).limit(1)).first()
    if found is None:
        return None
    event_id, attempts = found
    held = (events.workspace_id == workspace_id) & (events.id == event_id)
    begun = {"attempts": attempts + 1, "leased_until": tx.now + PAUSES[min(attempts, 1)]}
    if not tx.execute(update(campaign_event).where(held, free, events.attempts == attempts).values(begun)).rowcount:
        return None
    return Attempt(event_id, None if attempts == 0 else _begin_alone(tx, workspace_id, is_due, event_id))


def _begin_alone(tx: Transaction, workspace_id: int, is_due: ColumnElement[bool], event_id: int) -> int:
    """The due fire of an event that was begun least often; one that was begun too often is given up."""
    fires = campaign_fire.c
    due = select(fires.id, fires.contact_id, fires.attempts).where(is_due, fires.event_id == event_id)
    fire = tx.execute(due.order_by(fires.attempts, fires.due_on, fires.id).limit(1)).one()
    mine = update(campaign_fire).where(fires.workspace_id == workspace_id, fires.id == fire.id)
    if fire.attempts < MOST_ATTEMPTS:
        tx.execute(mine.values(attempts=fire.attempts + 1))
        return int(fire.id)
    tx.execute(mine.values(fired_on=tx.now))
    event = (campaign_event.c.workspace_id == workspace_id) & (campaign_event.c.id == event_id)
    uuid = select(contact.c.uuid).where(contact.c.workspace_id == workspace_id, contact.c.id == fire.contact_id)
    tx.execute(update(campaign_event).where(event).values(error=f"A contact was left out. {GIVEN_UP}"))
    who = tx.execute(uuid).scalar()
    logger.warning("campaign event %d of workspace %d left out contact %s: %s", event_id, workspace_id, who, GIVEN_UP)
    return int(fire.id)


def fire_next(tx: Transaction, workspace_id: int, attempt: Attempt | None = None) -> bool:
    """Perform a batch of fires of an event, or of the one of a workspace that has been due longest; returns whether
    there may be more."""
    batch = _take_batch(tx, workspace_id, attempt)
    if batch is None:
        return False
    moments = {
        contact_id: batch.timing.find_due(DatedContact(row.id, row.fields, row.created_on, row.last_seen_on))
        for contact_id, row in batch.contacts.items()
    }
    ripe = [one for one in batch.fires if moments.get(one.contact_id) == one.due_on]
    overtaken = [one for one in batch.fires if moments.get(one.contact_id) != one.due_on]
    if ripe and _perform(tx, batch, [batch.contacts[one.contact_id] for one in ripe]):
        fired = update(campaign_fire).where(campaign_fire.c.id.in_([one.id for one in ripe]), IS_UNFIRED)
        tx.execute(fired.where(campaign_fire.c.workspace_id == batch.workspace_id).values(fired_on=tx.now))
    elif ripe:
        drop_fires(tx, batch.workspace_id, [one.id for one in ripe])
    if overtaken:
        _reschedule(tx, batch, overtaken, moments)
    _get_on(tx, workspace_id, batch.timing.event_id, attempt)
    return bool(batch.fires)


def _get_on(tx: Transaction, workspace_id: int, event_id: int, attempt: Attempt | None) -> None:
    """Stores that fires of an event were performed; others that ended a worker are performed alone as long as there are
    any."""
    if attempt is None:
        return
    fires = campaign_fire.c
    theirs = (fires.workspace_id == workspace_id) & (fires.event_id == event_id) & IS_UNFIRED & (fires.due_on <= tx.now)
    is_suspect = attempt.fire_id is not None and tx.execute(select(fires.id).where(theirs).limit(1)).first() is not None
    mine = (campaign_event.c.workspace_id == workspace_id) & (campaign_event.c.id == event_id)
    got_on = {**GOT_ON, "attempts": int(is_suspect)}
    tx.execute(update(campaign_event).where(mine).values(got_on))


def _take_batch(tx: Transaction, workspace_id: int, attempt: Attempt | None) -> _Batch | None:
    fires = campaign_fire.c
    is_due = (fires.workspace_id == workspace_id) & IS_UNFIRED & (fires.due_on <= tx.now)
    if attempt is not None:
        is_due &= fires.event_id == attempt.event_id
        is_due &= true() if attempt.fire_id is None else fires.id == attempt.fire_id
    oldest = select(fires.event_id).where(is_due).order_by(fires.due_on, fires.id).limit(1)
    event_id = tx.execute(oldest.with_for_update(skip_locked=True)).scalar()
    if event_id is None:
        return None
    due = (
        select(fires.id, fires.contact_id, fires.due_on, fires.created_on)
        .where(is_due, fires.event_id == event_id)
        .order_by(fires.due_on, fires.id)
        .limit(BATCH)
        .with_for_update(skip_locked=True)
    )
    found = [_Fire(*row) for row in tx.execute(due)]
    ids = sorted({one.contact_id for one in found})
    free = _hold_contacts(tx, workspace_id, ids)
    timing = read_timings(tx, campaign_event.c.workspace_id == workspace_id, campaign_event.c.id == event_id)[0]
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


def _perform(tx: Transaction, batch: _Batch, contacts: Sequence[ContactRow]) -> bool:
    """Send the event's message or start its flow; returns False if the flow has been archived. With the start mode
    skip, contacts who wait in a flow are left out; a message never interrupts.
    """
    rows = campaign_event.c
    mine = (rows.workspace_id == batch.workspace_id) & (rows.id == batch.timing.event_id)
    columns = (rows.flow_id, rows.message, rows.base_language, rows.start_mode)
    flow_id, text, base_language, start_mode = tx.execute(select(*columns).where(mine)).one()
    if flow_id is not None:
        return _start_flow(tx, batch, flow_id, start_mode, [one.id for one in contacts])
    workspace = find_workspace(tx, batch.workspace_id)
    assert workspace is not None
    assert base_language is not None, "an event without a flow has a message"
    if start_mode == SKIP:
        busy = find_waiting(tx, workspace.id, [one.id for one in contacts])
        contacts = [one for one in contacts if one.id not in busy]
    add_outgoing(tx, workspace.id, Writer(tx, workspace, Wording(text, base_language), contacts).write())
    return True


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
