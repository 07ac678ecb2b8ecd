"""Checks what somebody wants of a trigger, and starts the flows of those that no message or call starts: schedules,
which are due next by the time zone of their workspace, and closed tickets (flow format, triggers). Each due time
becomes a start, even if a worker dies.
"""

import calendar
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Table, and_, insert, select, update

from flows.typed import plain
from flows.words import tokens
from persistence.contacts.audience import Audience
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.flow_starts.flow_starts import TICKET, TRIGGER, WAKE, NewStart, create_start
from persistence.flows.records import SURVEY, VOICE
from persistence.leases import GIVEN_UP, GOT_ON, Leases
from persistence.sql.columns import BigId, UtcDateTime, is_uuid, new_uuid, time_text
from persistence.sql.names import find_all_called, must_exist, require_id
from persistence.stamps import stamped
from persistence.statements import param
from persistence.tables.accounts import user, workspace
from persistence.tables.campaigns import FIRST_WORD, trigger, trigger_contact, trigger_group
from persistence.tables.channels import channel
from persistence.tables.contacts import contact, group, group_membership, ticket, topic
from persistence.tables.flows import PENDING, flow, flow_start, flow_start_contact
from persistence.triggers.records import INCOMING_CALL, KEYWORD, SCHEDULE, NewTrigger, Trigger, load_triggers
from persistence.triggers.records import TICKET as TICKET_TRIGGER
from persistence.users import USER_NAME
from persistence.workspaces.records import Workspace, hold_workspace

logger = logging.getLogger("relayboard.worker")

NEVER, DAILY, WEEKLY, MONTHLY = REPEATS = "never", "daily", "weekly", "monthly"
WEEKDAYS = "MTWRFSU"
"""One letter for each day of the week, beginning with Monday."""
MISSED = f"A time was left out. {GIVEN_UP}"
GROUP_POINTS, EXCLUSION_POINTS = 2, 1
_MINE, _NOW = param("workspace_id", BigId), param("now", UtcDateTime)
_LIVING = select(flow.c.id).where(flow.c.workspace_id == _MINE, ~flow.c.is_archived)
_IS_DUE = and_(
    *(trigger.c.workspace_id == _MINE, trigger.c.type == SCHEDULE, ~trigger.c.is_archived),
    *(trigger.c.next_fire_on.is_not(None), trigger.c.next_fire_on <= _NOW, trigger.c.flow_id.in_(_LIVING)),
)
LEASES = Leases(trigger, _IS_DUE, trigger.c.next_fire_on, trigger.c.id)

KEYWORD_LENGTH = 64


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

    return LEASES.take_next(tx, workspace_id, give_up)


def start_due(tx: Transaction, workspace_id: int, trigger_id: int) -> bool:
    """Creates a start for a schedule that is due, one for all the times that it has missed; returns whether there may
    be more."""
    due = select(trigger.c.flow_id).where(_IS_DUE, trigger.c.id == trigger_id).with_for_update(skip_locked=True)
    flow_id = tx.execute(due, {"workspace_id": workspace_id, "now": tx.now}).scalar()
    if flow_id is not None:
        create_start(tx, workspace_id, _describe_start(tx, trigger_id, flow_id))
        _move_on(tx, workspace_id, trigger_id, error=None)
    return True


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


@dataclass(frozen=True, slots=True)
class _Closed:
    """A ticket that was just closed, with its topic and assignee."""

    id: int
    uuid: str
    contact_id: int
    topic_uuid: str
    topic_name: str
    user_uuid: str | None
    email: str | None
    user_name: str


def start_for_closed(tx: Transaction, workspace_id: int, ticket_ids: Sequence[int]) -> None:
    """Starts the flow of the most specific trigger for each ticket just closed; few statements for any number."""
    triggers = [each for each in load_triggers(tx, workspace_id) if each.type == TICKET_TRIGGER]
    if not triggers or not ticket_ids:
        return
    tickets = _load(tx, workspace_id, ticket_ids)
    groups = _load_groups(tx, workspace_id, [each.contact_id for each in tickets])
    chosen = {each.id: _choose(triggers, groups.get(each.contact_id, set())) for each in tickets}
    flow_ids = _find_flows(tx, workspace_id, {each.flow_uuid for each in chosen.values() if each is not None})
    starts: list[dict[str, Any]] = []
    contacts: dict[str, int] = {}
    for each in tickets:
        found = chosen[each.id]
        if found is not None:
            starts.append(_describe_ticket_start(tx, workspace_id, flow_ids[found.flow_uuid], each))
            contacts[starts[-1]["uuid"]] = each.contact_id
    if starts:
        tx.execute(insert(flow_start), starts)
        made = tx.execute(
            select(flow_start.c.id, flow_start.c.uuid).where(
                flow_start.c.workspace_id == workspace_id, flow_start.c.uuid.in_(contacts)
            )
        )
        named = [
            {"workspace_id": workspace_id, "start_id": start_id, "contact_id": contacts[uuid], "is_named": True}
            for start_id, uuid in made
        ]
        tx.execute(insert(flow_start_contact), named)
        tx.wake(WAKE)


@dataclass(frozen=True, slots=True)
class TriggerForm:
    """A trigger as given by a person: UUIDs, of groups also names, keywords as typed, and a time, by default in the
    workspace's time zone."""

    type: str
    flow: str
    keywords: Sequence[str] = ()
    match: str = FIRST_WORD
    channel: str | None = None
    groups: Sequence[str] = ()
    excluded_groups: Sequence[str] = ()
    contacts: Sequence[str] = ()
    at: datetime | None = None
    repeat: str = NEVER
    days: str = ""


def read_trigger_form(tx: Transaction, workspace: Workspace, form: TriggerForm) -> NewTrigger:
    """The trigger that a form describes. Raises InvalidInput."""
    hold_workspace(tx, workspace.id)
    if (form.type == KEYWORD) != bool(form.keywords):
        raise InvalidInput.on("keyword", "Keyword triggers need a keyword, no others may have one.")
    if form.type != SCHEDULE and (form.at or form.contacts or form.days or form.repeat != NEVER):
        raise InvalidInput.on("type", "Only schedules have times and contacts.")
    contact_ids = _find_all(tx, workspace.id, contact, form.contacts, "contact")
    group_ids = _find_groups(tx, workspace.id, form.groups, "group")
    channels = [form.channel] if form.channel is not None else []
    timing = _read_timing(workspace, form, tx.now) if form.type == SCHEDULE else {}
    if form.type == SCHEDULE and not (form.groups or form.contacts):
        raise InvalidInput.on("group", "A schedule needs groups or contacts.")
    return NewTrigger(
        type=form.type,
        flow_id=find_flow_to_start(tx, workspace.id, form.flow, form.type),
        keywords=read_keywords(form.keywords),
        match=form.match,
        channel_id=next(iter(_find_all(tx, workspace.id, channel, channels, "channel")), None),
        group_ids=group_ids,
        excluded_group_ids=_find_groups(tx, workspace.id, form.excluded_groups, "exclude_group"),
        contact_ids=contact_ids,
        **timing,
    )


def find_flow_to_start(tx: Transaction, workspace_id: int, uuid: str, trigger_type: str) -> int:
    """The id of a flow that a trigger of this type may start. Raises InvalidInput."""
    flow_id = require_id(tx, workspace_id, flow, uuid, field="flow")
    kind, is_archived = tx.execute(select(flow.c.type, flow.c.is_archived).where(flow.c.id == flow_id)).one()
    if is_archived:
        raise InvalidInput.on("flow", "This flow is archived.")
    if kind == SURVEY:
        raise InvalidInput.on("flow", "Surveys are not started by triggers.")
    if trigger_type == INCOMING_CALL and kind != VOICE:
        raise InvalidInput.on("flow", "Incoming calls need a voice flow.")
    return flow_id


def read_keywords(given: Sequence[str]) -> tuple[str, ...]:
    """Keywords as they are stored: one word each, in lower case. Raises InvalidInput."""
    words: list[str] = []
    for text in given:
        found = tokens(plain(text))
        if len(found) != 1 or len(found[0]) > KEYWORD_LENGTH:
            raise InvalidInput.on("keyword", f'"{text[:KEYWORD_LENGTH]}" is not one word.')
        words.append(found[0].lower())
    return tuple(dict.fromkeys(words))


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


def _is_its_day(year: int, month: int, day: int, repeat: str, days: str) -> bool:
    if repeat == WEEKLY:
        return WEEKDAYS[calendar.weekday(year, month, day)] in days
    if repeat == MONTHLY:
        return day == min(int(days), calendar.monthrange(year, month)[1])
    return True


def _choose(triggers: Sequence[Trigger], held: set[str]) -> Trigger | None:
    """The trigger for a contact in these groups; of equally specific ones the newest."""

    def weigh(each: Trigger) -> tuple[int, int]:
        points = (GROUP_POINTS if each.group_uuids else 0) + (EXCLUSION_POINTS if each.excluded_group_uuids else 0)
        return points, each.id

    fitting = [
        each
        for each in triggers
        if (not each.group_uuids or held & set(each.group_uuids)) and not held & set(each.excluded_group_uuids)
    ]
    return max(fitting, key=weigh, default=None)


def _load(tx: Transaction, workspace_id: int, ticket_ids: Sequence[int]) -> list[_Closed]:
    of_ticket = (ticket.c.id, ticket.c.uuid, ticket.c.contact_id)
    mine = (ticket.c.workspace_id == workspace_id) & ticket.c.id.in_(ticket_ids)
    found = select(*of_ticket, topic.c.uuid, topic.c.name, user.c.uuid, user.c.email, USER_NAME)
    source = found.join(topic, topic.c.id == ticket.c.topic_id).outerjoin(user, user.c.id == ticket.c.assignee_id)
    return [_Closed(*row) for row in tx.execute(source.where(mine).order_by(ticket.c.id))]


def _load_groups(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> dict[int, set[str]]:
    links = group_membership.c
    statement = select(links.contact_id, group.c.uuid).join(group, group.c.id == links.group_id)
    mine = (group.c.workspace_id == workspace_id) & links.contact_id.in_(contact_ids)
    found: dict[int, set[str]] = {}
    for contact_id, uuid in tx.execute(statement.where(mine)):
        found.setdefault(contact_id, set()).add(uuid)
    return found


def _find_flows(tx: Transaction, workspace_id: int, uuids: set[str]) -> Mapping[str, int]:
    rows = tx.execute(select(flow.c.uuid, flow.c.id).where(flow.c.workspace_id == workspace_id, flow.c.uuid.in_(uuids)))
    return {uuid: flow_id for uuid, flow_id in rows}


def _describe_ticket_start(tx: Transaction, workspace_id: int, flow_id: int, each: _Closed) -> dict[str, Any]:
    topic_ref = {"uuid": each.topic_uuid, "name": each.topic_name}
    closed: dict[str, Any] = {"uuid": each.uuid, "status": "closed", "topic": topic_ref}
    if each.email is not None:
        closed["assignee"] = {"uuid": each.user_uuid, "email": each.email, "name": each.user_name.strip()}
    event = {"uuid": new_uuid(), "type": "ticket_closed", "created_on": time_text(tx.now), "ticket": closed}
    return {
        "uuid": new_uuid(),
        "workspace_id": workspace_id,
        "flow_id": flow_id,
        "status": PENDING,
        "start_type": TICKET,
        "parent": {"event": event},
        "created_on": tx.now,
        "modified_on": stamped(tx, flow_start, workspace_id),
    }


def _read_timing(workspace: Workspace, form: TriggerForm, now: datetime) -> dict[str, Any]:
    if form.at is None:
        raise InvalidInput.on("at", "A schedule needs a time.")
    try:
        local = form.at.replace(tzinfo=workspace.zone) if form.at.tzinfo is None else form.at.astimezone(workspace.zone)
        local.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInput.on("at", "This time is not in the calendar of the workspace's time zone.") from error
    if local <= now:
        raise InvalidInput.on("at", "This time is in the past.")
    if form.repeat not in REPEATS:
        raise InvalidInput.on("repeat", f"One of {', '.join(REPEATS)}.")
    if form.repeat == WEEKLY and not (form.days and set(form.days) <= set(WEEKDAYS)):
        raise InvalidInput.on("days", f"A weekly schedule needs letters of {WEEKDAYS}.")
    if form.repeat != WEEKLY and form.days:
        raise InvalidInput.on("days", "Only weekly schedules have days.")
    days = str(local.day) if form.repeat == MONTHLY else form.days or None
    return {"repeat": form.repeat, "days": days, "time_of_day": local.time(), "next_fire_on": local}


def _find_groups(tx: Transaction, workspace_id: int, references: Sequence[str], field: str) -> frozenset[int]:
    """The ids of groups given by UUID or name, locked. Raises InvalidInput for the first that is missing."""
    uuids = [row.uuid for row in find_all_called(tx, workspace_id, group, references, field)]
    return _find_all(tx, workspace_id, group, uuids, field)


def _find_all(tx: Transaction, workspace_id: int, table: Table, uuids: Sequence[str], field: str) -> frozenset[int]:
    """The ids of rows, locked until this transaction ends. Raises InvalidInput for the first that is missing."""
    wanted = {uuid.lower() for uuid in uuids if is_uuid(uuid)}
    mine = [table.c.workspace_id == workspace_id, table.c.uuid.in_(wanted)]
    if table is channel:
        mine.append(channel.c.is_active)
    if table is contact:
        mine.append(~contact.c.is_deleted)
    # A transaction that releases the channel or deletes the contact waits, and then finds the trigger.
    statement = select(table.c.uuid, table.c.id).where(*mine).order_by(table.c.id).with_for_update(read=True)
    found: dict[str, int] = {uuid: row_id for uuid, row_id in tx.execute(statement)} if wanted else {}
    return frozenset(must_exist(found.get(uuid.lower()), field, uuid) for uuid in uuids)
