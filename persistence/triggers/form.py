"""Checks a command's trigger against the workspace."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Table, select

from flows.typed import plain
from flows.words import tokens
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.flows.records import SURVEY, VOICE
from persistence.sql.columns import is_uuid
from persistence.sql.names import find_all_called, must_exist, require_id
from persistence.tables.channels import channel
from persistence.tables.contacts import contact, group
from persistence.tables.flows import flow
from persistence.tables.triggers import FIRST_WORD
from persistence.triggers.records import INCOMING_CALL, KEYWORD, SCHEDULE
from persistence.triggers.schedules import MONTHLY, NEVER, REPEATS, WEEKDAYS, WEEKLY
from persistence.triggers.writes import NewTrigger
from persistence.workspaces import Workspace, hold_workspace

KEYWORD_LENGTH = 64


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
