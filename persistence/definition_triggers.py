"""Bringing the triggers of an export file into a workspace."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from flows.definition.exports import ExportedTrigger, SkippedTrigger
from persistence.channels import channel
from persistence.database import Transaction
from persistence.definition_assets import ImportedAssets
from persistence.definition_problems import read_problem
from persistence.errors import InvalidInput
from persistence.groups import group
from persistence.trigger_form import find_flow_to_start, read_keywords
from persistence.trigger_writes import NewTrigger, create_trigger, find_rivals, find_same, set_archived
from persistence.triggers import (
    CATCH_ALL,
    FIRST_WORD,
    INCOMING_CALL,
    KEYWORD,
    MISSED_CALL,
    NEW_CONVERSATION,
    ONLY_WORD,
    TICKET,
)
from persistence.workspaces import Workspace

TYPES = {
    "K": KEYWORD,
    "C": CATCH_ALL,
    "V": INCOMING_CALL,
    "M": MISSED_CALL,
    "N": NEW_CONVERSATION,
    "T": TICKET,
}
"""The types there are here by their letters in files. Referrals, opt-ins and opt-outs come with channels of a kind that
there is not."""
LETTERS = {kind: letter for letter, kind in TYPES.items()}
MATCHES = {"F": FIRST_WORD, "O": ONLY_WORD}
MATCH_LETTERS = {match: letter for letter, match in MATCHES.items()}


def import_triggers(
    tx: Transaction, workspace: Workspace, assets: ImportedAssets, triggers: Sequence[ExportedTrigger]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Brings triggers in after the flows; what became of each, and those that cannot be here, with the reason.

    A trigger that is here already stays, an archived one comes back; one that claims the same for something else is
    archived.
    """
    reports: list[dict[str, Any]] = []
    skipped: list[dict[str, Any]] = []
    for given in triggers:
        try:
            new = _read(tx, workspace.id, assets, given)
        except InvalidInput as error:
            skipped.append(SkippedTrigger(given.type, given.flow.to_json(), read_problem(error)).to_json())
            continue
        change = _store(tx, workspace.id, new)
        reports.append({"type": new.type, "keywords": list(new.keywords), "flow": given.flow.name, "change": change})
    return reports, skipped


def _store(tx: Transaction, workspace_id: int, new: NewTrigger) -> str:
    same = find_same(tx, workspace_id, new)
    if same is not None and not same.is_archived:
        return "unchanged"
    set_archived(tx, workspace_id, find_rivals(tx, workspace_id, new), is_archived=True)
    if same is None:
        create_trigger(tx, workspace_id, new)
        return "created"
    set_archived(tx, workspace_id, [same.id], is_archived=False)
    return "updated"


def _read(tx: Transaction, workspace_id: int, assets: ImportedAssets, given: ExportedTrigger) -> NewTrigger:
    kind = TYPES.get(given.type)
    if kind is None:
        raise InvalidInput.on("trigger_type", "There are no triggers of this type here.")
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
    """The channel of a trigger; one from a server with other channels works on all of them."""
    known = assets.find("channel", given.channel.uuid, given.channel.name) if given.channel else None
    if known is None:
        return None
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == known[0])
    channel_id: int = tx.execute(select(channel.c.id).where(mine)).scalar_one()
    return channel_id


def _find_groups(tx: Transaction, workspace_id: int, assets: ImportedAssets, groups: Sequence[Any]) -> frozenset[int]:
    uuids = []
    for each in groups:
        known = assets.resolve("group", each.uuid, each.name)
        if known is None:
            raise InvalidInput.on("groups", f'Nothing found for "{each.name}".')
        uuids.append(known[0])
    mine = (group.c.workspace_id == workspace_id) & group.c.uuid.in_(uuids)
    return frozenset(tx.execute(select(group.c.id).where(mine)).scalars())
