"""Triggers, which start flows when an event of a contact occurs, or at a time: the v2 record, and how they are created,
archived and restored. No two active ones may have the same conditions (contract reference, triggers).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, bindparam, delete, insert, select

from persistence.channels.channels import SEEN_ID, SEEN_REF, join_channels
from persistence.database import Transaction
from persistence.errors import InvalidInput, RecordMissing
from persistence.lists import ListQuery, ListSpec, belongs_to, equals
from persistence.pages import Order
from persistence.records import Record, Related, optional
from persistence.sql.names import check_room, find_id, is_called, require_id
from persistence.statements import update
from persistence.tables.campaigns import FIRST_WORD, ONLY_WORD, trigger, trigger_contact, trigger_group
from persistence.tables.contacts import CONTACT_REF, GROUP_REF, contact, group
from persistence.tables.flows import FLOW_REF, flow
from persistence.workspaces.records import hold_workspace

KEYWORD, CATCH_ALL, NEW_CONVERSATION = "keyword", "catch_all", "new_conversation"
MISSED_CALL, INCOMING_CALL, SCHEDULE, TICKET = "missed_call", "incoming_call", "schedule", "ticket"
TYPES = (KEYWORD, CATCH_ALL, NEW_CONVERSATION, MISSED_CALL, INCOMING_CALL, SCHEDULE, TICKET)
KEYWORD_MATCHES = {FIRST_WORD: "first_word", ONLY_WORD: "only_word"}
"""How keywords are compared: as the first word of a message, or as the only one; with the engine's terms."""

_MESSAGE_TYPES: BindParameter[Any] = bindparam(
    None, (KEYWORD, CATCH_ALL, NEW_CONVERSATION), expanding=True, literal_execute=True
)
IS_MESSAGE_TRIGGER: ColumnElement[bool] = trigger.c.type.in_(_MESSAGE_TYPES) & ~trigger.c.is_archived
SOURCE = join_channels(trigger.join(flow, flow.c.id == trigger.c.flow_id), trigger)

UNRIVALLED = (SCHEDULE, TICKET)
"""The types of which several triggers may have the same conditions."""


def _list_groups(is_it: ColumnElement[bool]) -> Related:
    links = trigger_group.join(group, group.c.id == trigger_group.c.group_id)
    return Related(trigger_group.c.trigger_id, links, Record(GROUP_REF), group.c.name_key, where=is_it)


TRIGGER_RECORD = Record(
    {
        "uuid": trigger.c.uuid,
        "type": trigger.c.type,
        "flow": Record(FLOW_REF),
        "keywords": trigger.c.keywords,
        "match": trigger.c.match,
        "channel": optional(SEEN_ID, SEEN_REF),
        "groups": _list_groups(~trigger_group.c.is_excluded),
        "exclude_groups": _list_groups(trigger_group.c.is_excluded),
        "contacts": Related(
            trigger_contact.c.trigger_id,
            trigger_contact.join(contact, contact.c.id == trigger_contact.c.contact_id),
            Record(CONTACT_REF),
            contact.c.id,
        ),
        "repeat": trigger.c.repeat,
        "days": trigger.c.days,
        "next_fire_on": trigger.c.next_fire_on,
        "archived": trigger.c.is_archived,
        "error": trigger.c.error,
        "created_on": trigger.c.created_on,
    }
)


def _has_group(query: ListQuery, reference: str) -> ColumnElement[bool]:
    """Triggers for the contacts of a group, or not for them."""
    links = trigger_group.c
    named = select(group.c.id).where(group.c.workspace_id == query.workspace.id, is_called(group, reference))
    return trigger.c.id.in_(select(links.trigger_id).where(links.group_id.in_(named)))


TRIGGERS = ListSpec(
    trigger,
    TRIGGER_RECORD,
    Order(trigger.c.created_on, trigger.c.id),
    source=SOURCE,
    filters={
        "uuid": equals(trigger.c.uuid),
        "type": equals(trigger.c.type),
        "flow": belongs_to(trigger.c.flow_id, flow),
        "group": _has_group,
        "archived": equals(trigger.c.is_archived),
    },
)
TRIGGERS_PER_WORKSPACE = 1000
"""Active ones: all of them are compared with each message."""


@dataclass(frozen=True, slots=True)
class NewTrigger:
    """A trigger to create. Only keyword triggers have `keywords`, in lower case, and only schedules have a time. See
    the table for `repeat` and `days`.
    """

    type: str
    flow_id: int
    keywords: tuple[str, ...] = ()
    match: str = FIRST_WORD
    channel_id: int | None = None
    group_ids: frozenset[int] = frozenset()
    excluded_group_ids: frozenset[int] = frozenset()
    contact_ids: frozenset[int] = frozenset()
    repeat: str | None = None
    days: str | None = None
    time_of_day: time | None = None
    next_fire_on: datetime | None = None


@dataclass(frozen=True, slots=True)
class KnownTrigger:
    """What distinguishes triggers of a type and channel, with included and excluded groups."""

    id: int
    flow_id: int
    match: str
    keywords: Sequence[str]
    is_archived: bool
    group_ids: frozenset[int] = frozenset()
    excluded_group_ids: frozenset[int] = frozenset()


def create_trigger(tx: Transaction, workspace_id: int, new: NewTrigger, *, is_archived: bool = False) -> int:
    """Create a trigger; returns its id. Raises InvalidInput if an active one has the same conditions, LimitReached at
    the workspace's limit.
    """
    hold_workspace(tx, workspace_id)
    if not is_archived:
        refuse_rivals(tx, workspace_id, new)
        check_room_for_trigger(tx, workspace_id)
    trigger_id = tx.insert(
        trigger,
        workspace_id=workspace_id,
        type=new.type,
        flow_id=new.flow_id,
        keywords=list(new.keywords),
        match=new.match,
        channel_id=new.channel_id,
        repeat=new.repeat,
        days=new.days,
        time_of_day=new.time_of_day,
        next_fire_on=new.next_fire_on,
        is_archived=is_archived,
        created_on=tx.now,
        modified_on=tx.now,
    )
    link_trigger(tx, workspace_id, trigger_id, new)
    return trigger_id


def link_trigger(tx: Transaction, workspace_id: int, trigger_id: int, new: NewTrigger) -> None:
    """Stores the groups and contacts of a trigger that has none yet."""
    groups = [
        {"workspace_id": workspace_id, "trigger_id": trigger_id, "group_id": group_id, "is_excluded": is_excluded}
        for is_excluded, ids in ((False, new.group_ids), (True, new.excluded_group_ids))
        for group_id in sorted(ids)
    ]
    if groups:
        tx.execute(insert(trigger_group), groups)
    contacts = [
        {"workspace_id": workspace_id, "trigger_id": trigger_id, "contact_id": contact_id}
        for contact_id in sorted(new.contact_ids)
    ]
    if contacts:
        tx.execute(insert(trigger_contact), contacts)


def refuse_rivals(tx: Transaction, workspace_id: int, new: NewTrigger, *, besides_id: int | None = None) -> None:
    """Raises InvalidInput if another active trigger has these conditions."""
    if [each for each in find_rivals(tx, workspace_id, new) if each != besides_id]:
        field = "keywords" if new.type == KEYWORD else "type"
        raise InvalidInput.on(field, "Another trigger with the same channel and groups does this already.", "taken")


def check_room_for_trigger(tx: Transaction, workspace_id: int) -> None:
    """Raises LimitReached if no other trigger may become active."""
    check_room(tx, workspace_id, trigger, ~trigger.c.is_archived, limit=TRIGGERS_PER_WORKSPACE)


def find_rivals(tx: Transaction, workspace_id: int, new: NewTrigger) -> list[int]:
    """The ids of active triggers with the same type, channel and groups; keyword triggers with a common keyword."""
    if new.type in UNRIVALLED:
        return []
    return [
        each.id
        for each in _load(tx, workspace_id, new)
        if not each.is_archived and each.group_ids == new.group_ids and _share_keyword(each.keywords, new)
    ]


def find_same(tx: Transaction, workspace_id: int, new: NewTrigger) -> KnownTrigger | None:
    """The trigger that does exactly the same as this one, preferably an active one."""
    same = [
        each
        for each in _load(tx, workspace_id, new)
        if (each.flow_id, each.match, sorted(each.keywords)) == (new.flow_id, new.match, sorted(new.keywords))
        and (each.group_ids, each.excluded_group_ids) == (new.group_ids, new.excluded_group_ids)
    ]
    return min(same, key=lambda each: (each.is_archived, each.id), default=None)


def set_archived(tx: Transaction, workspace_id: int, trigger_ids: Sequence[int], *, is_archived: bool) -> None:
    """Archives triggers, or restores them."""
    mine = (trigger.c.workspace_id == workspace_id) & trigger.c.id.in_(trigger_ids)
    changed = update(trigger).where(mine, trigger.c.is_archived != is_archived)
    tx.execute(changed.values(is_archived=is_archived, modified_on=tx.now))


def archive_trigger(tx: Transaction, workspace_id: int, uuid: str) -> int:
    """Archives a trigger; its id. Raises RecordMissing."""
    hold_workspace(tx, workspace_id)
    trigger_id = find_id(tx, workspace_id, trigger, uuid)
    if trigger_id is None:
        raise RecordMissing(f"There is no trigger {uuid[:64]}.")
    set_archived(tx, workspace_id, [trigger_id], is_archived=True)
    return trigger_id


def delete_trigger(tx: Transaction, workspace_id: int, uuid: str) -> None:
    """Deletes a trigger. Raises RecordMissing."""
    hold_workspace(tx, workspace_id)
    trigger_id = require_id(tx, workspace_id, trigger, uuid)
    tx.execute(delete(trigger).where(trigger.c.workspace_id == workspace_id, trigger.c.id == trigger_id))


def archive_triggers_of_flow(tx: Transaction, workspace_id: int, flow_id: int) -> None:
    """Archives all triggers that start a flow."""
    mine = (trigger.c.workspace_id == workspace_id) & (trigger.c.flow_id == flow_id) & ~trigger.c.is_archived
    tx.execute(update(trigger).where(mine).values(is_archived=True, modified_on=tx.now))


def archive_triggers_of_channels(tx: Transaction, workspace_id: int, channel_ids: Sequence[int]) -> None:
    """Archives the triggers that use only these channels."""
    if not channel_ids:
        return
    theirs = (trigger.c.workspace_id == workspace_id) & trigger.c.channel_id.in_(channel_ids) & ~trigger.c.is_archived
    tx.execute(update(trigger).where(theirs).values(is_archived=True, modified_on=tx.now))


def _load(tx: Transaction, workspace_id: int, new: NewTrigger) -> list[KnownTrigger]:
    """The triggers of a type and channel."""
    rows, links = trigger.c, trigger_group.c
    mine = (trigger.c.workspace_id == workspace_id) & (trigger.c.type == new.type)
    on_channel = trigger.c.channel_id == new.channel_id if new.channel_id else trigger.c.channel_id.is_(None)
    columns = (rows.id, rows.flow_id, rows.match, rows.keywords, rows.is_archived)
    known = [KnownTrigger(*row) for row in tx.execute(select(*columns).where(mine, on_channel).order_by(rows.id))]
    linked = select(links.trigger_id, links.is_excluded, links.group_id).join(trigger, rows.id == links.trigger_id)
    groups: dict[tuple[int, bool], set[int]] = {}
    for trigger_id, is_excluded, group_id in tx.execute(linked.where(mine, on_channel)):
        groups.setdefault((trigger_id, is_excluded), set()).add(group_id)
    return [
        replace(
            each,
            group_ids=frozenset(groups.get((each.id, False), ())),
            excluded_group_ids=frozenset(groups.get((each.id, True), ())),
        )
        for each in known
    ]


def _share_keyword(keywords: Sequence[str], new: NewTrigger) -> bool:
    return new.type != KEYWORD or bool(set(keywords) & set(new.keywords))
