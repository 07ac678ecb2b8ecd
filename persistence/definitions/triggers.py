"""Imports the triggers of an export file into a workspace."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from flows.definition.exports import ExportedTrigger, Named, SkippedTrigger
from persistence.channels.states import SEEN_NAME, SEEN_UUID, join_channels
from persistence.database import Transaction
from persistence.definitions.assets import ImportedAssets, read_problem
from persistence.errors import InvalidInput
from persistence.sql.columns import is_uuid
from persistence.tables.channels import channel
from persistence.tables.contacts import group
from persistence.tables.flows import flow
from persistence.tables.triggers import FIRST_WORD, ONLY_WORD, trigger, trigger_group
from persistence.triggers.form import find_flow_to_start, read_keywords
from persistence.triggers.triggers import CATCH_ALL, INCOMING_CALL, KEYWORD, MISSED_CALL, NEW_CONVERSATION, TICKET
from persistence.triggers.writes import NewTrigger, create_trigger, find_rivals, find_same, set_archived
from persistence.workspaces import Workspace

TYPES = {
    "K": KEYWORD,
    "C": CATCH_ALL,
    "V": INCOMING_CALL,
    "M": MISSED_CALL,
    "N": NEW_CONVERSATION,
    "T": TICKET,
}
"""The supported types by their letters in files. Referrals, opt-ins and opt-outs belong to channel types that do not
exist here."""
LETTERS = {kind: letter for letter, kind in TYPES.items()}
MATCHES = {"F": FIRST_WORD, "O": ONLY_WORD}
MATCH_LETTERS = {match: letter for letter, match in MATCHES.items()}


def import_triggers(
    tx: Transaction, workspace: Workspace, assets: ImportedAssets, triggers: Sequence[ExportedTrigger]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Imports triggers after the flows; returns what happened to each, and the skipped ones with the reason. An
    existing trigger stays, an archived one is restored; a different trigger with the same conditions is archived.
    A trigger of a channel that is not active here, or of a group that neither is here nor in the file, is archived:
    without them it would do more than it did.
    """
    reports: list[dict[str, Any]] = []
    skipped: list[dict[str, Any]] = []
    for given in triggers:
        unknown = _unknown_group(assets, given)
        try:
            new = _read(tx, workspace.id, assets, given)
        except InvalidInput as error:
            skipped.append(SkippedTrigger(given.type, given.flow.to_json(), read_problem(error)).to_json())
            continue
        problem = None
        if given.channel is not None and not _is_active(tx, workspace.id, new.channel_id):
            problem = f'Its channel "{given.channel.name or given.channel.uuid}" is not active here, so it is archived.'
        elif unknown is not None:
            problem = f'Its group "{unknown.name}" was not here and has nobody, so it is archived.'
        change = _store(tx, workspace.id, new, is_unbound=problem is not None)
        report = {"type": new.type, "keywords": list(new.keywords), "flow": given.flow.name, "change": change}
        reports.append(report if problem is None else {**report, "problem": problem})
    return reports, skipped


def _store(tx: Transaction, workspace_id: int, new: NewTrigger, *, is_unbound: bool) -> str:
    same = find_same(tx, workspace_id, new)
    if same is not None and (is_unbound or not same.is_archived):
        return "unchanged"
    if is_unbound:
        create_trigger(tx, workspace_id, new, is_archived=True)
        return "created"
    set_archived(tx, workspace_id, find_rivals(tx, workspace_id, new), is_archived=True)
    if same is None:
        create_trigger(tx, workspace_id, new)
        return "created"
    set_archived(tx, workspace_id, [same.id], is_archived=False)
    return "updated"


def _read(tx: Transaction, workspace_id: int, assets: ImportedAssets, given: ExportedTrigger) -> NewTrigger:
    kind = TYPES.get(given.type)
    if kind is None:
        raise InvalidInput.on("trigger_type", "Triggers of this type are not supported.")
    known = assets.find("flow", given.flow.uuid, given.flow.name)
    if known is None:
        raise InvalidInput.on("flow", f'Nothing found for "{given.flow.name}".')
    return NewTrigger(
        type=kind,
        flow_id=find_flow_to_start(tx, workspace_id, known[0], kind),
        keywords=read_keywords(given.keywords),
        match=MATCHES.get(given.match_type, FIRST_WORD),
        channel_id=_find_channel(tx, workspace_id, assets, given),
        group_ids=_find_groups(tx, workspace_id, assets, given.groups),
        excluded_group_ids=_find_groups(tx, workspace_id, assets, given.exclude_groups),
    )


def _find_channel(tx: Transaction, workspace_id: int, assets: ImportedAssets, given: ExportedTrigger) -> int | None:
    """The channel of a trigger, also one that is released; None if there is none, or the trigger has none."""
    if given.channel is None:
        return None
    uuid, _ = assets.find("channel", given.channel.uuid, given.channel.name) or (given.channel.uuid.lower(), "")
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == uuid)
    return tx.execute(select(channel.c.id).where(mine)).scalar_one_or_none() if is_uuid(uuid) else None


def _unknown_group(assets: ImportedAssets, given: ExportedTrigger) -> Named | None:
    """The first group of a trigger that nobody knows: it is made now."""
    groups = (*given.groups, *given.exclude_groups)
    return next((each for each in groups if assets.find("group", each.uuid, each.name) is None), None)


def _is_active(tx: Transaction, workspace_id: int, channel_id: int | None) -> bool:
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.id == (channel_id or 0)) & channel.c.is_active
    return tx.execute(select(channel.c.id).where(mine)).first() is not None


def _find_groups(tx: Transaction, workspace_id: int, assets: ImportedAssets, groups: Sequence[Named]) -> frozenset[int]:
    uuids = []
    for each in groups:
        known = assets.resolve("group", each.uuid, each.name)
        if known is None:
            raise InvalidInput.on("groups", f'Nothing found for "{each.name}".')
        uuids.append(known[0])
    mine = (group.c.workspace_id == workspace_id) & group.c.uuid.in_(uuids)
    return frozenset(tx.execute(select(group.c.id).where(mine)).scalars())


@dataclass(frozen=True, slots=True)
class TriggerParts:
    """A trigger in the form of export files, and the flow that it starts."""

    flow_uuid: str
    exported: ExportedTrigger


def load_trigger_parts(tx: Transaction, workspace_id: int) -> dict[str, TriggerParts]:
    """The triggers that are not archived, oldest first, without schedules, which are not exported; two statements."""
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
