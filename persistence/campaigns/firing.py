"""Events of campaigns: how v1 shows them (letters for units, one text, plain values), how v1 and v2 write them, and how
their fires are performed, once for each contact and time, if necessary late. The fires of a batch are locked and marked
in the transaction that creates their messages or their flow start: a worker that dies leaves neither, and several
workers never take the same fire.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, String, case, func, select, update

from persistence.broadcasts.expansion import Wording, Writer
from persistence.campaigns.fires import (
    DatedContact,
    Timing,
    add_fires,
    choose_active,
    drop_fires,
    find_members,
    read_timings,
    request_passes,
)
from persistence.campaigns.records import CAMPAIGN_EVENTS, RELATIVE_NAME, SYSTEM_DATES, find_campaign, living_events_of
from persistence.contacts.audience import Audience
from persistence.database import Transaction
from persistence.deletions import CAMPAIGN_EVENT, note_deleted
from persistence.errors import InvalidInput, LimitReached, RecordMissing, Refused
from persistence.fields import create_field, find_key
from persistence.flow_starts.flow_starts import CAMPAIGN, NewStart, create_start
from persistence.flows.records import require_active_flow
from persistence.leases import GIVEN_UP, MOST_ATTEMPTS, PAUSES, Leases, is_free
from persistence.lists import Condition, ListQuery, one_of, within
from persistence.messages.outgoing import add_outgoing
from persistence.records import Record, Template
from persistence.sessions.replies import CONTACT_COLUMNS, ContactRow
from persistence.sessions.sessions import find_waiting
from persistence.sql.columns import is_uuid
from persistence.sql.due_work import list_due_workspaces
from persistence.sql.names import must_exist, read_translations
from persistence.tables.campaigns import INTERRUPT, IS_UNFIRED, PASSIVE, SKIP, campaign, campaign_event, campaign_fire
from persistence.tables.contacts import contact, field
from persistence.tables.flows import IS_PASSIVE, flow
from persistence.workspaces.records import Workspace, find_workspace

logger = logging.getLogger("relayboard.worker")

LEASES = Leases(campaign_event, count=None)
"""Of events whose fires are performed; attempts are counted in each fire."""

BATCH = 500
SIZES = (BATCH, 25, 1)
"""How many fires are performed together that were begun so often before: what ends workers stands alone in the last of
its attempts.
"""

UNIT_LETTERS = {"minutes": "M", "hours": "H", "days": "D", "weeks": "W"}
UNITS = {letter: word for word, letter in UNIT_LETTERS.items()}

EVENTS_PER_CAMPAIGN = 250
DATE_TYPE = "datetime"
NO_DATE = "This field is not a date field."
ONE_OF_TWO = "Give either a message or a flow."


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


class _Translation(
    Template, sqlite="""json_extract({0}, '$."' || {1} || '"')""", postgresql="({0} ->> {1})", kind=String()
):
    """The text of a document at the key in a column; null if there is none."""


EVENT_RECORD = Record(
    {
        "uuid": campaign_event.c.uuid,
        "campaign_uuid": campaign.c.uuid,
        "flow_uuid": flow.c.uuid,
        "relative_to": RELATIVE_NAME,
        "offset": campaign_event.c.offset,
        "unit": case(UNIT_LETTERS, value=campaign_event.c.unit),
        "delivery_hour": campaign_event.c.delivery_hour,
        "message": _Translation(campaign_event.c.message, campaign_event.c.base_language),
        "created_on": campaign_event.c.created_on,
        "event": campaign_event.c.id,
        "campaign": campaign.c.id,
        "flow": flow.c.id,
    }
)


def _of_campaigns(query: ListQuery, uuids: Sequence[str]) -> Condition:
    known = [uuid for uuid in uuids if is_uuid(uuid)]
    named = select(campaign.c.id).where(campaign.c.workspace_id == query.workspace.id, campaign.c.uuid.in_(known))
    return campaign_event.c.campaign_id.in_(named)


EVENTS_V1 = replace(
    CAMPAIGN_EVENTS,
    record=EVENT_RECORD,
    filters={
        "uuid": one_of(campaign_event.c.uuid),
        "campaign_uuid": _of_campaigns,
        **within(campaign_event.c.created_on),
    },
)


def write_event(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> int:
    """Change the event with `uuid`, or create an event of `campaign_uuid`; returns its id. Raises InvalidInput."""
    uuid, campaign_uuid = body.get("uuid"), body.get("campaign_uuid") or None
    if uuid is not None:
        if campaign_uuid is not None:
            raise InvalidInput.across("Give either uuid or campaign_uuid.")
        must_exist(find_event(tx, workspace.id, uuid), "uuid", uuid)
        return change_campaign_event(tx, workspace.id, uuid, _read(tx, workspace, body))
    if campaign_uuid is None:
        raise InvalidInput.on("campaign_uuid", "A value is required.", "required")
    campaign_id = must_exist(find_campaign(tx, workspace.id, campaign_uuid), "campaign_uuid", campaign_uuid)
    return create_campaign_event(tx, workspace.id, campaign_id, _read(tx, workspace, body))


def delete_events(query: ListQuery) -> None:
    """Delete the events that match. Raises Refused without a filter, RecordMissing if nothing matches."""
    if not query.values:
        raise Refused("One of these parameters is required: uuid, campaign_uuid.")
    event_ids = list(query.tx.execute(EVENTS_V1.select_ids(query)).scalars())
    if not event_ids:
        raise RecordMissing
    delete_campaign_events(query.tx, query.workspace.id, event_ids)


def create_from_form(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> int:
    """Create an event of the campaign in the body; returns its id. Raises InvalidInput."""
    uuid = body.get("campaign")
    if uuid is None:
        raise InvalidInput.on("campaign", "A value is required.", "required")
    campaign_id = must_exist(find_campaign(tx, workspace.id, uuid), "campaign", uuid)
    return create_campaign_event(tx, workspace.id, campaign_id, _read_form(tx, workspace, body))


def change_from_form(tx: Transaction, workspace: Workspace, uuid: str, body: Mapping[str, Any]) -> int:
    """Change an event; returns its id. Raises RecordMissing, or InvalidInput, also for another campaign than its
    own."""
    _, campaign_id, *_ = require_event(tx, workspace.id, uuid)
    campaign_uuid = body.get("campaign")
    if campaign_uuid is not None and find_campaign(tx, workspace.id, campaign_uuid) != campaign_id:
        raise InvalidInput.on("campaign", "The campaign of an event cannot be changed.")
    return change_campaign_event(tx, workspace.id, uuid, _read_form(tx, workspace, body))


@dataclass(frozen=True, slots=True)
class EventForm:
    """What an event does, and when; either `message` with its `base_language` or `flow_id` is set."""

    relative_to: str
    offset: int
    unit: str
    delivery_hour: int
    message: dict[str, str] | None = None
    base_language: str | None = None
    flow_id: int | None = None
    start_mode: str = INTERRUPT


def find_date(tx: Transaction, workspace_id: int, key: str) -> str:
    """The key of a date from which events can count. Raises InvalidInput for an unknown field or a field that is not
    a date."""
    if key in SYSTEM_DATES:
        return key
    # Locked, so that its type cannot change before the event that forbids this is stored.
    mine = (field.c.workspace_id == workspace_id) & (field.c.key == key)
    kind = tx.execute(select(field.c.type).where(mine).with_for_update(read=True)).scalar_one_or_none()
    if must_exist(kind, "relative_to", key[:36]) != DATE_TYPE:
        raise InvalidInput.on("relative_to", NO_DATE)
    return key


def find_or_create_date(tx: Transaction, workspace_id: int, name: str) -> str:
    """The key of the date with this name (in any case) or key; a date field is created if it does not exist. Raises
    InvalidInput for a field that is not a date or a name that no field may have, LimitReached at the limit of fields.
    """
    for key, known in SYSTEM_DATES.items():
        if name.casefold() in (key, known.casefold()):
            return key
    mine = field.c.workspace_id == workspace_id
    known_key = find_key(tx, workspace_id, name)
    if known_key is not None:
        return find_date(tx, workspace_id, known_key)
    try:
        field_id = create_field(tx, workspace_id, name, DATE_TYPE)
    except InvalidInput as error:
        raise InvalidInput({"relative_to": error.errors["name"]}) from error
    return tx.execute(select(field.c.key).where(mine, field.c.id == field_id)).scalar_one()


def read_message(workspace: Workspace, given: str | Mapping[str, str]) -> tuple[dict[str, str], str]:
    """A message by language, and its base language. Raises InvalidInput.

    A plain string is in the workspace's first language, which translations must include.
    """
    base = workspace.default_language
    if isinstance(given, str):
        return {base: given}, base
    texts = read_translations(given, "message")
    if base not in texts:
        raise InvalidInput.on("message", f'A text in the language "{base}" is required.')
    return texts, base


def create_campaign_event(tx: Transaction, workspace_id: int, campaign_id: int, form: EventForm) -> int:
    """Create an event, whose contacts a worker schedules soon; returns its id. Raises LimitReached at the limit of the
    campaign.
    """
    rows = campaign_event.c
    theirs = (rows.workspace_id == workspace_id) & (rows.campaign_id == campaign_id) & ~rows.is_deleted
    if tx.execute(select(func.count()).select_from(campaign_event).where(theirs)).scalar_one() >= EVENTS_PER_CAMPAIGN:
        raise LimitReached(f"A campaign has at most {EVENTS_PER_CAMPAIGN} events: delete those that are not needed.")
    times = {"created_on": tx.now, "timed_on": tx.now}
    event_id = tx.insert(campaign_event, workspace_id=workspace_id, campaign_id=campaign_id, **asdict(form), **times)
    request_passes(tx, workspace_id, campaign_event.c.id == event_id, is_retimed=True)
    return event_id


def change_campaign_event(tx: Transaction, workspace_id: int, uuid: str, form: EventForm) -> int:
    """Change what an event does and when; a changed time reschedules it for all contacts. Returns its id. Raises
    RecordMissing.
    """
    event_id, _, *timing = require_event(tx, workspace_id, uuid)
    mine = (campaign_event.c.workspace_id == workspace_id) & (campaign_event.c.id == event_id)
    tx.execute(update(campaign_event).where(mine).values(**asdict(form)))
    if timing != [form.relative_to, form.offset, form.unit, form.delivery_hour]:
        request_passes(tx, workspace_id, campaign_event.c.id == event_id, is_retimed=True)
    return event_id


def delete_campaign_events(tx: Transaction, workspace_id: int, event_ids: list[int]) -> int:
    """Delete events: what they scheduled no longer fires, what has fired stays. Returns how many were deleted."""
    mine = (campaign_event.c.workspace_id == workspace_id) & campaign_event.c.id.in_(event_ids)
    request_passes(tx, workspace_id, campaign_event.c.id.in_(event_ids))
    gone = update(campaign_event).where(mine, ~campaign_event.c.is_deleted).values(is_deleted=True)
    uuids = tx.execute(gone.returning(campaign_event.c.uuid)).scalars().all()
    note_deleted(tx, workspace_id, CAMPAIGN_EVENT, uuids)
    return len(uuids)


def find_event(tx: Transaction, workspace_id: int, uuid: str) -> Row[int, int, str, int, str, int] | None:
    """The id, campaign, and time (`relative_to`, offset, unit, hour) of an event of a campaign that is not archived."""
    rows = campaign_event.c
    columns = (rows.id, rows.campaign_id, rows.relative_to, rows.offset, rows.unit, rows.delivery_hour)
    found = select(*columns).where(*living_events_of(workspace_id), rows.uuid == uuid)
    return tx.execute(found).first() if is_uuid(uuid) else None


def require_event(tx: Transaction, workspace_id: int, uuid: str) -> Row[int, int, str, int, str, int]:
    """`find_event`. Raises RecordMissing."""
    row = find_event(tx, workspace_id, uuid)
    if row is None:
        raise RecordMissing
    return row


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


def _read(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> EventForm:
    message, flow_uuid = body.get("message") or None, body.get("flow_uuid") or None
    if (message is None) == (flow_uuid is None):
        raise InvalidInput.across(ONE_OF_TWO)
    flow_id = None
    if flow_uuid is not None:
        flow_id = require_active_flow(tx, workspace.id, flow_uuid, field="flow_uuid")
    relative_to = find_or_create_date(tx, workspace.id, body["relative_to"])
    timing = (relative_to, body["offset"], UNITS[body["unit"]], body["delivery_hour"])
    if message is None:
        return EventForm(*timing, flow_id=flow_id)
    return EventForm(*timing, *read_message(workspace, message))


def _read_form(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> EventForm:
    message, flow = body.get("message"), body.get("flow")
    if (message is None) == (flow is None):
        raise InvalidInput.across(ONE_OF_TWO)
    relative_to = find_date(tx, workspace.id, body["relative_to"])
    timing = (relative_to, body["offset"], body["unit"], body["delivery_hour"])
    if message is None:
        return EventForm(*timing, flow_id=require_active_flow(tx, workspace.id, str(flow), field="flow"))
    return EventForm(*timing, *read_message(workspace, message))
