"""Triggers: what makes contacts enter a flow by themselves, or at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BindParameter,
    Boolean,
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Time,
    bindparam,
    select,
    text,
)

from persistence.columns import Json, id_column, metadata, time_column, uuid_column, workspace_column
from persistence.database import Transaction
from persistence.flows import flow
from persistence.former_channels import SEEN_UUID, join_channels
from persistence.groups import group

KEYWORD, CATCH_ALL, NEW_CONVERSATION = "keyword", "catch_all", "new_conversation"
MISSED_CALL, INCOMING_CALL, SCHEDULE, TICKET = "missed_call", "incoming_call", "schedule", "ticket"
TYPES = (KEYWORD, CATCH_ALL, NEW_CONVERSATION, MISSED_CALL, INCOMING_CALL, SCHEDULE, TICKET)
FIRST_WORD, ONLY_WORD = "first", "only"
KEYWORD_MATCHES = {FIRST_WORD: "first_word", ONLY_WORD: "only_word"}
"""How keywords are compared: as the first word of a message, or as the only one; and the engine's words for it."""

trigger = Table(
    "trigger",
    metadata,
    id_column(),
    uuid_column(),
    workspace_column(),
    Column("type", String(16), nullable=False),
    Column("flow_id", Integer, ForeignKey("flow.id"), nullable=False),
    Column("keywords", Json, nullable=False),
    Column("match", String(5), nullable=False, default=FIRST_WORD),
    Column("channel_id", Integer, ForeignKey("channel.id")),
    Column("is_archived", Boolean, nullable=False, default=False),
    Column("repeat", String(8)),
    Column("days", String(7)),
    Column("time_of_day", Time),
    time_column("next_fire_on", nullable=True),
    time_column("created_on"),
    time_column("modified_on"),
    Index("ix_trigger_page", "workspace_id", "created_on", "id"),
    Index("ix_trigger_flow", "flow_id"),
    Index(
        "ix_trigger_messages",
        "workspace_id",
        postgresql_where=text("type IN ('keyword', 'catch_all', 'new_conversation') AND NOT is_archived"),
        sqlite_where=text("type IN ('keyword', 'catch_all', 'new_conversation') AND is_archived = 0"),
    ),
    Index(
        "ix_trigger_due",
        "next_fire_on",
        "id",
        postgresql_where=text("next_fire_on IS NOT NULL"),
        sqlite_where=text("next_fire_on IS NOT NULL"),
    ),
    sqlite_autoincrement=True,
)
"""`repeat` of a schedule is never, daily, weekly or monthly, `days` its weekdays (M T W R F S U), `time_of_day` the one
it was made for by the clocks of the workspace; `next_fire_on` is null once it will not fire again."""

trigger_group = Table(
    "trigger_group",
    metadata,
    Column("trigger_id", Integer, ForeignKey("trigger.id", ondelete="CASCADE"), primary_key=True),
    Column("group_id", Integer, ForeignKey("contact_group.id"), primary_key=True),
    Column("is_excluded", Boolean, nullable=False, default=False),
    Index("ix_trigger_group_group", "group_id"),
)
"""The groups a trigger is for, or not for. A schedule starts the contacts of its groups."""

trigger_contact = Table(
    "trigger_contact",
    metadata,
    Column("trigger_id", Integer, ForeignKey("trigger.id", ondelete="CASCADE"), primary_key=True),
    Column("contact_id", Integer, ForeignKey("contact.id"), primary_key=True),
)
"""The contacts a schedule starts beside those of its groups."""

_MESSAGE_TYPES: BindParameter[Any] = bindparam(
    None, (KEYWORD, CATCH_ALL, NEW_CONVERSATION), expanding=True, literal_execute=True
)
IS_MESSAGE_TRIGGER: ColumnElement[bool] = trigger.c.type.in_(_MESSAGE_TYPES) & ~trigger.c.is_archived


@dataclass(frozen=True, slots=True)
class Trigger:
    """An active trigger, as messages and events of channels are compared with it."""

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
    rows = trigger.c
    columns = (rows.id, rows.uuid, rows.type, flow.c.uuid, flow.c.name, rows.keywords, rows.match, SEEN_UUID)
    statement = (
        select(*columns)
        .select_from(join_channels(trigger.join(flow, flow.c.id == rows.flow_id), trigger))
        .where(rows.workspace_id == workspace_id, ~rows.is_archived, ~flow.c.is_archived)
        .order_by(rows.id)
    )
    found = tx.execute(statement).all()
    groups = _load_groups(tx, workspace_id) if found else {}
    return [
        Trigger(
            row[0],
            row[1],
            row[2],
            row[3],
            row[4],
            row[5],
            row[6],
            row[7],
            group_uuids=tuple(groups.get((row.id, False), ())),
            excluded_group_uuids=tuple(groups.get((row.id, True), ())),
        )
        for row in found
    ]


def _load_groups(tx: Transaction, workspace_id: int) -> dict[tuple[int, bool], list[str]]:
    statement = (
        select(trigger_group.c.trigger_id, trigger_group.c.is_excluded, group.c.uuid)
        .join(trigger, trigger.c.id == trigger_group.c.trigger_id)
        .join(group, group.c.id == trigger_group.c.group_id)
        .where(trigger.c.workspace_id == workspace_id, ~trigger.c.is_archived)
        .order_by(group.c.id)
    )
    found: dict[tuple[int, bool], list[str]] = {}
    for trigger_id, is_excluded, uuid in tx.execute(statement):
        found.setdefault((trigger_id, is_excluded), []).append(uuid)
    return found
