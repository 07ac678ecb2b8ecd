"""Triggers as export files hold them (flow format, export files)."""

from dataclasses import dataclass

from sqlalchemy import select

from flows.definition.exports import ExportedTrigger, Named
from persistence.database import Transaction
from persistence.definition_triggers import LETTERS, MATCH_LETTERS
from persistence.flows import flow
from persistence.former_channels import SEEN_NAME, SEEN_UUID, join_channels
from persistence.groups import group
from persistence.triggers import KEYWORD, trigger, trigger_group


@dataclass(frozen=True, slots=True)
class TriggerParts:
    """A trigger in the form of files, and the flow it starts."""

    flow_uuid: str
    exported: ExportedTrigger


def load_trigger_parts(tx: Transaction, workspace_id: int) -> dict[str, TriggerParts]:
    """The triggers that are not archived, oldest first, but schedules, which stay where they are; two statements."""
    columns = (
        trigger,
        flow.c.uuid.label("flow_uuid"),
        flow.c.name.label("flow_name"),
        SEEN_UUID.label("channel_uuid"),
        SEEN_NAME.label("channel_name"),
    )
    statement = (
        select(*columns)
        .select_from(join_channels(trigger.join(flow, flow.c.id == trigger.c.flow_id), trigger))
        .where(trigger.c.workspace_id == workspace_id, ~trigger.c.is_archived, trigger.c.type.in_(LETTERS))
        .order_by(trigger.c.id)
    )
    groups = _load_groups(tx, workspace_id)
    found = {}
    for row in tx.execute(statement):
        exported = ExportedTrigger(
            type=LETTERS[row.type],
            flow=Named(row.flow_uuid, row.flow_name),
            channel=Named(row.channel_uuid, row.channel_name or "") if row.channel_uuid else None,
            groups=tuple(groups.get((row.id, False), ())),
            exclude_groups=tuple(groups.get((row.id, True), ())),
            keywords=tuple(row.keywords),
            match_type=MATCH_LETTERS[row.match] if row.type == KEYWORD else "",
        )
        found[str(row.id)] = TriggerParts(row.flow_uuid, exported)
    return found


def _load_groups(tx: Transaction, workspace_id: int) -> dict[tuple[int, bool], list[Named]]:
    links = trigger_group.c
    statement = (
        select(links.trigger_id, links.is_excluded, group.c.uuid, group.c.name)
        .join(group, group.c.id == links.group_id)
        .where(group.c.workspace_id == workspace_id)
        .order_by(links.trigger_id, group.c.id)
    )
    found: dict[tuple[int, bool], list[Named]] = {}
    for trigger_id, is_excluded, uuid, name in tx.execute(statement):
        found.setdefault((trigger_id, is_excluded), []).append(Named(uuid, name))
    return found
