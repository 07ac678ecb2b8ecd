"""Triggers: start flows when an event of a contact occurs, or at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Executable, bindparam, select

from persistence.channels.states import SEEN_ID, SEEN_REF, SEEN_UUID, join_channels
from persistence.database import Transaction
from persistence.lists import ListSpec
from persistence.pages import Order
from persistence.records import Record, Related, optional
from persistence.statements import statement
from persistence.tables.contacts import CONTACT_REF, GROUP_REF, contact, group
from persistence.tables.flows import FLOW_REF, flow
from persistence.tables.triggers import FIRST_WORD, ONLY_WORD, trigger, trigger_contact, trigger_group

KEYWORD, CATCH_ALL, NEW_CONVERSATION = "keyword", "catch_all", "new_conversation"
MISSED_CALL, INCOMING_CALL, SCHEDULE, TICKET = "missed_call", "incoming_call", "schedule", "ticket"
TYPES = (KEYWORD, CATCH_ALL, NEW_CONVERSATION, MISSED_CALL, INCOMING_CALL, SCHEDULE, TICKET)
KEYWORD_MATCHES = {FIRST_WORD: "first_word", ONLY_WORD: "only_word"}
"""How keywords are compared: as the first word of a message, or as the only one; with the engine's terms."""

_MESSAGE_TYPES: BindParameter[Any] = bindparam(
    None, (KEYWORD, CATCH_ALL, NEW_CONVERSATION), expanding=True, literal_execute=True
)
IS_MESSAGE_TRIGGER: ColumnElement[bool] = trigger.c.type.in_(_MESSAGE_TYPES) & ~trigger.c.is_archived


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
SOURCE = join_channels(trigger.join(flow, flow.c.id == trigger.c.flow_id), trigger)
TRIGGERS = ListSpec(trigger, TRIGGER_RECORD, Order(trigger.c.created_on, trigger.c.id), source=SOURCE)


@dataclass(frozen=True, slots=True)
class Trigger:
    """An active trigger, with what messages and channel events are compared with."""

    id: int
    uuid: str
    type: str
    flow_uuid: str
    flow_name: str
    keywords: Sequence[str]
    match: str
    channel_uuid: str | None
    group_uuids: tuple[str, ...] = ()
    excluded_group_uuids: tuple[str, ...] = ()


def load_triggers(tx: Transaction, workspace_id: int) -> list[Trigger]:
    """The active triggers of a workspace whose flow is not archived, oldest first; two statements."""
    found = [Trigger(*row) for row in _select_triggers.rows(tx, workspace_id)]
    groups = _load_groups(tx, workspace_id) if found else {}
    return [
        replace(
            each,
            group_uuids=tuple(groups.get((each.id, False), ())),
            excluded_group_uuids=tuple(groups.get((each.id, True), ())),
        )
        for each in found
    ]


def _load_groups(tx: Transaction, workspace_id: int) -> dict[tuple[int, bool], list[str]]:
    found: dict[tuple[int, bool], list[str]] = {}
    for trigger_id, is_excluded, uuid in _select_groups.rows(tx, workspace_id):
        found.setdefault((trigger_id, is_excluded), []).append(uuid)
    return found


@statement
def _select_triggers(workspace_id: int) -> Executable:
    rows = trigger.c
    columns = (rows.id, rows.uuid, rows.type, flow.c.uuid, flow.c.name, rows.keywords, rows.match, SEEN_UUID)
    mine = (rows.workspace_id == workspace_id) & ~rows.is_archived & ~flow.c.is_archived
    return select(*columns).select_from(SOURCE).where(mine).order_by(rows.id)


@statement
def _select_groups(workspace_id: int) -> Executable:
    return (
        select(trigger_group.c.trigger_id, trigger_group.c.is_excluded, group.c.uuid)
        .join(trigger, trigger.c.id == trigger_group.c.trigger_id)
        .join(group, group.c.id == trigger_group.c.group_id)
        .where(trigger.c.workspace_id == workspace_id, ~trigger.c.is_archived)
        .order_by(group.c.id)
    )
