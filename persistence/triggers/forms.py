"""What somebody wants of a trigger, by the command line or the API: checked against the workspace, and stored (flow
format, triggers).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Row, Table, delete, select

from flows.typed import plain
from flows.words import tokens
from persistence.channels.channels import SEEN_UUID
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.flows.records import SURVEY, VOICE
from persistence.leases import GOT_ON
from persistence.repeating import MONTHLY, NEVER, WEEKLY, find_next_due, read_times
from persistence.sql.columns import is_uuid
from persistence.sql.names import find_all_called, must_exist, require_id
from persistence.statements import update
from persistence.tables.campaigns import FIRST_WORD, trigger, trigger_contact, trigger_group
from persistence.tables.channels import channel
from persistence.tables.contacts import contact, group
from persistence.tables.flows import flow
from persistence.triggers.records import (
    INCOMING_CALL,
    KEYWORD,
    SCHEDULE,
    SOURCE,
    NewTrigger,
    check_room_for_trigger,
    create_trigger,
    link_trigger,
    refuse_rivals,
    set_archived,
)
from persistence.workspaces.records import Workspace, hold_workspace

KEYWORD_LENGTH = 64
TIMES = ("scheduled_on", "repeat", "days")
"""What says when a schedule starts its flow."""


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
    exclude_groups: Sequence[str] = ()
    contacts: Sequence[str] = ()
    scheduled_on: datetime | None = None
    repeat: str = NEVER
    days: str = ""
    archived: bool = False


FORM_FIELDS = tuple(each.name for each in fields(TriggerForm))


def write_trigger(tx: Transaction, workspace: Workspace, uuid: str | None, given: Mapping[str, Any]) -> int:
    """Creates a trigger from the fields of a form, or changes those of an existing one; its id. Null stands for the
    default of a field. Raises RecordMissing and InvalidInput.
    """
    known = {name: value for name, value in given.items() if name in FORM_FIELDS}
    if uuid is not None:
        return _change_trigger(tx, workspace, uuid, known)
    for name in ("type", "flow"):
        if not known.get(name):
            raise InvalidInput.on(name, "A value is required.", "required")
    form = TriggerForm(**{name: value for name, value in known.items() if value is not None})
    return create_trigger(tx, workspace.id, read_trigger_form(tx, workspace, form), is_archived=form.archived)


def read_trigger_form(
    tx: Transaction, workspace: Workspace, form: TriggerForm, timing: Mapping[str, Any] | None = None
) -> NewTrigger:
    """The trigger that a form describes; `timing` is that of a schedule whose times the form leaves as they are. Raises
    InvalidInput.
    """
    hold_workspace(tx, workspace.id)
    contact_ids = _find_all(tx, workspace.id, contact, form.contacts, "contacts")
    group_ids = _find_groups(tx, workspace.id, form.groups, "groups")
    excluded_ids = _find_groups(tx, workspace.id, form.exclude_groups, "exclude_groups")
    channels = [form.channel] if form.channel is not None else []
    channel_id = next(iter(_find_all(tx, workspace.id, channel, channels, "channel")), None)
    if (form.type == KEYWORD) != bool(form.keywords):
        raise InvalidInput.on("keywords", "Keyword triggers need a keyword, no others may have one.")
    if form.type != SCHEDULE and (form.scheduled_on or form.contacts or form.days or form.repeat != NEVER):
        raise InvalidInput.on("type", "Only schedules have times and contacts.")
    if form.type == SCHEDULE:
        timing = _read_timing(workspace, form, tx.now) if timing is None else timing
        if not (form.groups or form.contacts):
            raise InvalidInput.on("groups", "A schedule needs groups or contacts.")
    return NewTrigger(
        type=form.type,
        flow_id=find_flow_to_start(tx, workspace.id, form.flow, form.type),
        keywords=read_keywords(form.keywords),
        match=form.match,
        channel_id=channel_id,
        group_ids=group_ids,
        excluded_group_ids=excluded_ids,
        contact_ids=contact_ids,
        **(timing or {}),
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
            raise InvalidInput.on("keywords", f'"{text[:KEYWORD_LENGTH]}" is not one word.')
        words.append(found[0].lower())
    return tuple(dict.fromkeys(words))


def _change_trigger(tx: Transaction, workspace: Workspace, uuid: str, given: Mapping[str, Any]) -> int:
    """What is to be at work is checked as a whole. Who only puts a trigger away is asked nothing."""
    hold_workspace(tx, workspace.id)
    trigger_id = require_id(tx, workspace.id, trigger, uuid)
    if given.keys() == {"archived"} and given["archived"]:
        set_archived(tx, workspace.id, [trigger_id], is_archived=True)
        return trigger_id
    stored = tx.execute(select(trigger, *_TOLD).select_from(SOURCE).where(_is_mine(workspace.id, trigger_id))).one()
    former = _describe(tx, trigger_id, stored)
    usual = TriggerForm(former.type, former.flow)
    asked = {name: getattr(usual, name) if value is None else value for name, value in given.items()}
    form = replace(former, **asked)
    if form.type != former.type:
        raise InvalidInput.on("type", "The type of a trigger cannot be changed.")
    timing = None if given.keys() & set(TIMES) else _keep_timing(workspace, stored, form, tx.now)
    if timing is None and stored.next_fire_on is not None and "scheduled_on" not in given:
        local = stored.next_fire_on.astimezone(workspace.zone)
        form = replace(form, scheduled_on=datetime.combine(local.date(), stored.time_of_day or local.time()))
        if form.repeat == stored.repeat == MONTHLY and not form.days:  # the next month may be shorter than its day
            form = replace(form, days=stored.days or "")
    new = read_trigger_form(tx, workspace, form, timing)
    if not form.archived:
        refuse_rivals(tx, workspace.id, new, besides_id=trigger_id)
        if former.archived:
            check_room_for_trigger(tx, workspace.id)
    _store(tx, workspace.id, trigger_id, new, is_archived=form.archived)
    return trigger_id


_TOLD = (flow.c.uuid.label("flow_uuid"), SEEN_UUID.label("channel_uuid"))


def _is_mine(workspace_id: int, trigger_id: int) -> Any:
    return (trigger.c.workspace_id == workspace_id) & (trigger.c.id == trigger_id)


def _describe(tx: Transaction, trigger_id: int, stored: Row[Any]) -> TriggerForm:
    """A stored trigger as the form that would create it, without its time."""
    links, named = trigger_group.c, trigger_contact.c
    of_groups = select(group.c.uuid, links.is_excluded).join(trigger_group, links.group_id == group.c.id)
    groups = tx.execute(of_groups.where(links.trigger_id == trigger_id)).all()
    of_contacts = select(contact.c.uuid).join(trigger_contact, named.contact_id == contact.c.id)
    return TriggerForm(
        stored.type,
        stored.flow_uuid,
        stored.keywords,
        stored.match,
        stored.channel_uuid,
        groups=[uuid for uuid, is_excluded in groups if not is_excluded],
        exclude_groups=[uuid for uuid, is_excluded in groups if is_excluded],
        contacts=tx.execute(of_contacts.where(named.trigger_id == trigger_id, ~contact.c.is_deleted)).scalars().all(),
        repeat=stored.repeat or NEVER,
        days=stored.days or "" if stored.repeat == WEEKLY else "",
        archived=stored.is_archived,
    )


def _keep_timing(workspace: Workspace, stored: Row[Any], form: TriggerForm, now: datetime) -> dict[str, Any]:
    """The times of a schedule as they are. One that is restored leaves out what it missed meanwhile."""
    following = stored.next_fire_on
    if stored.type == SCHEDULE and stored.is_archived and not form.archived and following is not None:
        if following <= now:
            repeat = stored.repeat or NEVER
            following = find_next_due(following, repeat, stored.days, workspace.zone, now, stored.time_of_day)
        if following is None:
            raise InvalidInput.on("scheduled_on", "This time is in the past.")
    times = {"repeat": stored.repeat, "days": stored.days, "time_of_day": stored.time_of_day}
    return {**times, "next_fire_on": following}


def _store(tx: Transaction, workspace_id: int, trigger_id: int, new: NewTrigger, *, is_archived: bool) -> None:
    values = {
        "flow_id": new.flow_id,
        "keywords": list(new.keywords),
        "match": new.match,
        "channel_id": new.channel_id,
        "repeat": new.repeat,
        "days": new.days,
        "time_of_day": new.time_of_day,
        "next_fire_on": new.next_fire_on,
        "is_archived": is_archived,
        "modified_on": tx.now,
        "error": None,
        **GOT_ON,
    }
    tx.execute(update(trigger).where(_is_mine(workspace_id, trigger_id)).values(values))
    for links in (trigger_group, trigger_contact):
        theirs = (links.c.workspace_id == workspace_id) & (links.c.trigger_id == trigger_id)
        tx.execute(delete(links).where(theirs))
    link_trigger(tx, workspace_id, trigger_id, new)


def _read_timing(workspace: Workspace, form: TriggerForm, now: datetime) -> dict[str, Any]:
    if form.scheduled_on is None:
        raise InvalidInput.on("scheduled_on", "A schedule needs a time.")
    times = read_times(workspace.zone, form.scheduled_on, form.repeat, form.days, now)
    return {
        "repeat": times.repeat,
        "days": times.days,
        "time_of_day": times.time_of_day,
        "next_fire_on": times.due_on,
    }


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
