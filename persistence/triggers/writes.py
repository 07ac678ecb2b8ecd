"""Creating, archiving and restoring triggers, of which no two may claim the same (contract reference, triggers)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time
from typing import Any

from sqlalchemy import insert, select, update

from persistence.database import Transaction
from persistence.errors import InvalidInput, RecordMissing
from persistence.sql.columns import is_uuid, new_uuid
from persistence.tables.triggers import FIRST_WORD, trigger, trigger_contact, trigger_group
from persistence.triggers.triggers import KEYWORD, SCHEDULE, TICKET
from persistence.workspaces import hold_workspace

UNRIVALLED = (SCHEDULE, TICKET)
"""The types of which any number may do the same."""


@dataclass(frozen=True, slots=True)
class NewTrigger:
    """A trigger to make. Only one for keywords has `keywords`, in lower case, and only a schedule has a time.

    See the table on `repeat` and `days`.
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


def create_trigger(tx: Transaction, workspace_id: int, new: NewTrigger) -> int:
    """A new trigger; its id. Raises InvalidInput when an active one claims the same."""
    hold_workspace(tx, workspace_id)
    rivals = find_rivals(tx, workspace_id, new)
    if rivals:
        field = "keyword" if new.type == KEYWORD else "type"
        raise InvalidInput.on(field, "Another trigger with the same channel and groups does this already.")
    values = {
        "uuid": new_uuid(),
        "type": new.type,
        "flow_id": new.flow_id,
        "keywords": list(new.keywords),
        "match": new.match,
        "channel_id": new.channel_id,
        "repeat": new.repeat,
        "days": new.days,
        "time_of_day": new.time_of_day,
        "next_fire_on": new.next_fire_on,
        "created_on": tx.now,
        "modified_on": tx.now,
    }
    made = insert(trigger).values(workspace_id=workspace_id, **values).returning(trigger.c.id)
    trigger_id: int = tx.execute(made).scalar_one()
    groups = [
        {"trigger_id": trigger_id, "group_id": group_id, "is_excluded": is_excluded}
        for is_excluded, ids in ((False, new.group_ids), (True, new.excluded_group_ids))
        for group_id in sorted(ids)
    ]
    if groups:
        tx.execute(insert(trigger_group), groups)
    contacts = [{"trigger_id": trigger_id, "contact_id": contact_id} for contact_id in sorted(new.contact_ids)]
    if contacts:
        tx.execute(insert(trigger_contact), contacts)
    return trigger_id


def find_rivals(tx: Transaction, workspace_id: int, new: NewTrigger) -> list[int]:
    """The ids of active triggers of the same type, channel and groups, those for keywords with one in common."""
    if new.type in UNRIVALLED:
        return []
    return [
        row.id
        for row, included, _ in _load(tx, workspace_id, new)
        if not row.is_archived and included == new.group_ids and _share_keyword(row.keywords, new)
    ]


def find_same(tx: Transaction, workspace_id: int, new: NewTrigger) -> Any | None:
    """The row of the trigger, active rather than archived, that does exactly what this one would."""
    same = [
        row
        for row, included, excluded in _load(tx, workspace_id, new)
        if row.flow_id == new.flow_id
        and row.match == new.match
        and sorted(row.keywords) == sorted(new.keywords)
        and (included, excluded) == (new.group_ids, new.excluded_group_ids)
    ]
    return min(same, key=lambda row: (row.is_archived, row.id), default=None)


def set_archived(tx: Transaction, workspace_id: int, trigger_ids: Sequence[int], *, is_archived: bool) -> None:
    """Puts triggers away, or lets them work again."""
    mine = (trigger.c.workspace_id == workspace_id) & trigger.c.id.in_(trigger_ids)
    changed = update(trigger).where(mine, trigger.c.is_archived != is_archived)
    tx.execute(changed.values(is_archived=is_archived, modified_on=tx.now))


def archive_trigger(tx: Transaction, workspace_id: int, uuid: str) -> int:
    """Puts a trigger away; its id. Raises RecordMissing."""
    hold_workspace(tx, workspace_id)
    named = trigger.c.uuid == uuid if is_uuid(uuid) else trigger.c.id < 0
    found = tx.execute(select(trigger.c.id).where(trigger.c.workspace_id == workspace_id, named))
    trigger_id: int | None = found.scalar_one_or_none()
    if trigger_id is None:
        raise RecordMissing(f"There is no trigger {uuid[:64]}.")
    set_archived(tx, workspace_id, [trigger_id], is_archived=True)
    return trigger_id


def archive_triggers_of_flow(tx: Transaction, workspace_id: int, flow_id: int) -> None:
    """Puts away all triggers that start a flow."""
    mine = (trigger.c.workspace_id == workspace_id) & (trigger.c.flow_id == flow_id) & ~trigger.c.is_archived
    tx.execute(update(trigger).where(mine).values(is_archived=True, modified_on=tx.now))


def archive_triggers_of_channels(tx: Transaction, workspace_id: int, channel_ids: Sequence[int]) -> None:
    """Puts away the triggers that listen to these channels only."""
    if not channel_ids:
        return
    theirs = (trigger.c.workspace_id == workspace_id) & trigger.c.channel_id.in_(channel_ids) & ~trigger.c.is_archived
    tx.execute(update(trigger).where(theirs).values(is_archived=True, modified_on=tx.now))


def _load(tx: Transaction, workspace_id: int, new: NewTrigger) -> list[tuple[Any, frozenset[int], frozenset[int]]]:
    """The triggers of a type and channel, with the groups they are for and not for."""
    mine = (trigger.c.workspace_id == workspace_id) & (trigger.c.type == new.type)
    on_channel = trigger.c.channel_id == new.channel_id if new.channel_id else trigger.c.channel_id.is_(None)
    rows = tx.execute(select(trigger).where(mine, on_channel).order_by(trigger.c.id)).all()
    links = select(trigger_group).join(trigger, trigger.c.id == trigger_group.c.trigger_id).where(mine, on_channel)
    groups: dict[tuple[int, bool], set[int]] = {}
    for link in tx.execute(links):
        groups.setdefault((link.trigger_id, link.is_excluded), set()).add(link.group_id)
    return [
        (row, frozenset(groups.get((row.id, False), ())), frozenset(groups.get((row.id, True), ()))) for row in rows
    ]


def _share_keyword(keywords: Sequence[str], new: NewTrigger) -> bool:
    return new.type != KEYWORD or bool(set(keywords) & set(new.keywords))
