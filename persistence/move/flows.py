"""Imports definitions of another server, and what its list of flows adds to them."""

import contextlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sqlalchemy import select

from persistence.campaigns.records import archive_campaign
from persistence.database import Transaction
from persistence.definitions.importing import ImportReport, import_definitions
from persistence.errors import InvalidInput, LimitReached
from persistence.flows.records import add_flow_label
from persistence.move.comparison import find_gone
from persistence.move.moves import (
    CAMPAIGN,
    CAMPAIGN_EVENT,
    FLOW,
    GROUP,
    TRIGGER,
    Move,
    Moved,
    Record,
    find_carried,
    keep_moved,
)
from persistence.sql.names import find_ids, name_key
from persistence.statements import update
from persistence.tables.campaigns import campaign, campaign_event
from persistence.tables.flows import flow, flow_label, labeled_flow
from persistence.tables.service import classifier
from persistence.workspaces.records import hold_workspace

MADE = "is named by a flow, trigger or campaign and not listed there: made here, with nobody in it"


def write_definitions(tx: Transaction, move: Move, document: Mapping[str, Any]) -> ImportReport:
    """Imports flows, triggers and campaigns as an export file. Raises ImportRefused or LimitReached, and nothing was
    changed. Relative URLs are those of the other server."""
    events: dict[str, str] = {}
    report = import_definitions(tx, move.workspace, document, media_url=move.source, events=events.update)
    given = {str(each.get("uuid")).lower(): str(each.get("name") or "") for each in document.get("flows") or ()}
    _keep(tx, move, FLOW, flow, given, report.flows, _lost_classifiers(tx, move, document))
    given = {str(each.get("uuid")).lower(): str(each.get("name") or "") for each in document.get("campaigns") or ()}
    _keep(tx, move, CAMPAIGN, campaign, given, report.campaigns)
    ids = find_ids(tx, move.workspace.id, campaign_event, list(events.values()))
    keep_moved(tx, move, CAMPAIGN_EVENT, [Moved(old.lower(), ids[new]) for old, new in events.items()])
    # Everything that the other side lists was carried before: these are references to what it has no more.
    keep_moved(
        tx, move, GROUP, [Moved(f"made {name}"[:80], None, name, MADE) for name in report.made.get("groups", ())]
    )
    triggers = [_trigger(each) for each in report.triggers]
    lost = [_lost_trigger(each) for each in report.skipped]
    keep_moved(tx, move, TRIGGER, [*triggers, *lost])
    return report


def _keep(
    tx: Transaction,
    move: Move,
    kind: str,
    table: Any,
    given: Mapping[str, str],
    reports: Sequence[Mapping[str, Any]],
    notes: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Remembers what flows or campaigns became: they are found by UUID, otherwise by name."""
    by_uuid = {each["uuid"]: each["uuid"] for each in reports}
    by_name = {name_key(each["name"]): each["uuid"] for each in reports}
    here = {uuid: by_uuid.get(uuid) or by_name.get(name_key(name.strip())) for uuid, name in given.items()}
    ids = find_ids(tx, move.workspace.id, table, [uuid for uuid in here.values() if uuid])
    keep_moved(
        tx, move, kind, [Moved(old, ids[new], given[old], notes.get(old)) for old, new in here.items() if new in ids]
    )


def _lost_classifiers(tx: Transaction, move: Move, document: Mapping[str, Any]) -> dict[str, str]:
    """What to say of flows that call a classifier that is not here: the newest format has none, so that inspections do
    not say it."""
    rows = classifier.c
    known = tx.execute(select(rows.uuid, rows.name_key).where(rows.workspace_id == move.workspace.id)).all()
    here = {text for row in known for text in row}
    found = {}
    for each in document.get("flows") or ():
        actions = (action for node in each.get("nodes") or () for action in node.get("actions") or ())
        called = [action.get("classifier") or {} for action in actions if action.get("type") == "call_classifier"]
        lost = [one for one in called if not {str(one.get("uuid")), name_key(str(one.get("name")))} & here]
        if lost:
            found[str(each.get("uuid")).lower()] = f'calls the classifier "{lost[0].get("name")}", which is not here'
    return found


def _trigger(report: Mapping[str, Any]) -> Moved:
    words, problem = " ".join(report.get("keywords") or ()), report.get("problem")
    reference = f"{report['type']} {report['flow']} {words} {problem or ''}"[:80].strip()
    return Moved(reference, 0, f"trigger {report['type']} {words} of {report['flow']}", problem)


def _lost_trigger(skipped: Mapping[str, Any]) -> Moved:
    flow_name = (skipped.get("flow") or {}).get("name") or ""
    kind = skipped.get("trigger_type") or "?"
    why = str(skipped.get("problem") or "cannot be used here")
    return Moved(f"{kind} {flow_name}"[:80], None, f"trigger {kind} of {flow_name}", why)


def put_away_campaigns(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    """Campaigns that came with the move and are archived there, or no longer listed, are archived here."""
    living = {each["reference"] for each in records if not each["archived"]}
    listed = {each["reference"] for each in records}
    for reference, number in find_gone(tx, move, CAMPAIGN, living).items():
        mine = (campaign.c.workspace_id == move.workspace.id) & (campaign.c.id == number) & ~campaign.c.is_archived
        if tx.execute(select(campaign.c.uuid).where(mine)).scalar_one_or_none() != reference:
            continue  # archived already, or here before the move
        archive_campaign(tx, move.workspace.id, reference)
        if reference not in listed:
            keep_moved(tx, move, CAMPAIGN, [Moved(reference, number, reference, "was deleted there: archived here")])


def lose_definition(tx: Transaction, move: Move, kind: str, record: Record, why: str) -> None:
    keep_moved(tx, move, kind, [Moved(record["reference"], None, record["label"], why)])


def write_flows(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    """What definitions leave out: the time of creation, labels, and whether a flow is archived."""
    hold_workspace(tx, move.workspace.id)
    ids = find_carried(tx, move, FLOW, [each["reference"] for each in records])
    for each in records:
        if each["reference"] not in ids:
            continue
        flow_id = ids[each["reference"]]
        mine = (flow.c.workspace_id == move.workspace.id) & (flow.c.id == flow_id)
        values = {"is_archived": each["archived"]} | ({"created_on": each["created_on"]} if each["created_on"] else {})
        tx.execute(update(flow).where(mine).values(**values))
        _set_labels(tx, move, flow_id, each["labels"])


def _set_labels(tx: Transaction, move: Move, flow_id: int, names: Sequence[str]) -> None:
    """A flow keeps labels that it got here."""
    links = labeled_flow.c
    on = (flow_label.c.workspace_id == links.workspace_id) & (flow_label.c.id == links.label_id)
    mine = (links.workspace_id == move.workspace.id) & (links.flow_id == flow_id)
    present = set(tx.execute(select(flow_label.c.name_key).join(labeled_flow, on).where(mine)).scalars())
    for name in names:
        if name_key(name.strip()) not in present:
            with contextlib.suppress(InvalidInput, LimitReached):
                add_flow_label(tx, move.workspace.id, flow_id, name)
