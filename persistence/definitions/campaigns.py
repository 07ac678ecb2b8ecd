"""Campaigns brought in from export files (flow format, export files)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, Table, case, insert, select, update

from flows.definition.exports import ExportedCampaign, ExportError
from flows.languages import is_language
from persistence.campaign_events.v1 import UNIT_LETTERS, UNITS
from persistence.campaign_events.v2 import RELATIVE_NAME, SYSTEM_DATES
from persistence.campaign_events.writes import (
    EventForm,
    create_campaign_event,
    delete_campaign_events,
    find_date,
    find_or_create_date,
)
from persistence.campaigns.v2 import CAMPAIGN_SOURCE
from persistence.database import Transaction
from persistence.definitions.assets import ImportedAssets
from persistence.definitions.problems import read_problem
from persistence.errors import InvalidInput
from persistence.fields import find_fields
from persistence.sql.columns import is_uuid, new_uuid
from persistence.sql.names import NAME_LENGTH, check_name, check_name_is_free, name_key
from persistence.tables.campaigns import INTERRUPT, START_MODES, campaign, campaign_event
from persistence.tables.contacts import field, group
from persistence.tables.flows import flow
from persistence.workspaces import Workspace

TEXT_LENGTH = 4096
OFFSET_LIMIT = 2**31
UNREADABLE = (AttributeError, KeyError, OverflowError, TypeError, ValueError)
"""What reading a value of an unexpected shape raises."""

OLD_BASE_LANGUAGE = "base"
"""What files of before languages were known say for the language of the texts."""


def import_campaigns(
    tx: Transaction,
    workspace: Workspace,
    campaigns: Sequence[Any],
    *,
    groups: Mapping[str, int],
    flows: Mapping[str, int],
    is_same_site: bool,
) -> list[int]:
    """Create or replace campaigns of an export file; their ids.

    `groups` and `flows` give the local ids of the file's groups and flows by the uuids (lower case) in the file, which
    were brought in before; fields too. A campaign is the one with its uuid, in a file of this site, else the one with
    its name; the events of a known campaign are replaced. Raises InvalidInput on `campaigns` at the index of the first
    campaign that cannot be read or names what `groups` and `flows` lack.
    """
    ids = []
    for index, given in enumerate(campaigns):
        try:
            ids.append(_import(tx, workspace, given, groups, flows, is_same_site=is_same_site))
        except (InvalidInput, *UNREADABLE) as error:
            problem = error.errors if isinstance(error, InvalidInput) else {"non_field_errors": [_explain(error)]}
            raise InvalidInput({"campaigns": {str(index): problem}}) from error
    return ids


def _explain(error: Exception) -> str:
    return f"{error} is missing." if isinstance(error, KeyError) else f"Not a campaign: {error}."


def _import(
    tx: Transaction,
    workspace: Workspace,
    given: Mapping[str, Any],
    groups: Mapping[str, int],
    flows: Mapping[str, int],
    *,
    is_same_site: bool,
) -> int:
    name = check_name(str(given["name"]).strip()[:NAME_LENGTH].replace('"', "'").replace("\\", "/"))
    group_id = _look_up(groups, given["group"], "group")
    forms = [_read_event(tx, workspace, event, flows) for event in given.get("events") or []]
    uuid = str(given.get("uuid") or "").lower()
    campaign_id = _find(tx, workspace.id, uuid if is_same_site else "", name)
    check_name_is_free(tx, workspace.id, campaign, name, ~campaign.c.is_archived, besides_id=campaign_id)
    values = {"name": name, "name_key": name_key(name), "group_id": group_id}
    if campaign_id is None:
        kept = uuid if is_same_site and is_uuid(uuid) and _is_free(tx, uuid) else new_uuid()
        statement = insert(campaign).values(workspace_id=workspace.id, uuid=kept, created_on=tx.now, **values)
        campaign_id = tx.execute(statement.returning(campaign.c.id)).scalar_one()
    else:
        mine = (campaign.c.workspace_id == workspace.id) & (campaign.c.id == campaign_id)
        tx.execute(update(campaign).where(mine).values(**values))
        old = select(campaign_event.c.id).where(
            campaign_event.c.campaign_id == campaign_id, ~campaign_event.c.is_deleted
        )
        delete_campaign_events(tx, workspace.id, list(tx.execute(old).scalars()))
    for form in forms:
        create_campaign_event(tx, workspace.id, campaign_id, form)
    return campaign_id


def _find(tx: Transaction, workspace_id: int, uuid: str, name: str) -> int | None:
    """The campaign with this uuid, else with this name, that is not archived."""
    by_uuid = campaign.c.uuid == uuid if is_uuid(uuid) else campaign.c.id < 0
    named = by_uuid | (campaign.c.name_key == name_key(name))
    mine = (campaign.c.workspace_id == workspace_id) & ~campaign.c.is_archived & named
    return tx.execute(select(campaign.c.id).where(mine).order_by(by_uuid.desc())).scalars().first()


def _is_free(tx: Transaction, uuid: str) -> bool:
    return tx.execute(select(campaign.c.id).where(campaign.c.uuid == uuid)).first() is None


def _look_up(known: Mapping[str, int], reference: Mapping[str, Any], field: str) -> int:
    uuid = str(reference["uuid"])
    if uuid.lower() not in known:
        raise InvalidInput.on(field, f'Nothing found for "{uuid[:64]}".')
    return known[uuid.lower()]


def _read_event(tx: Transaction, workspace: Workspace, given: Mapping[str, Any], flows: Mapping[str, int]) -> EventForm:
    offset, hour = int(given["offset"]), int(given.get("delivery_hour", -1))
    if not -OFFSET_LIMIT <= offset < OFFSET_LIMIT or not -1 <= hour <= 23:
        raise InvalidInput.on("events", "The offset or the delivery hour is out of range.")
    if given["unit"] not in UNITS:
        raise InvalidInput.on("events", f'Not a unit of time: "{given["unit"]}".')
    timing = (_find_date(tx, workspace.id, given["relative_to"]), offset, UNITS[given["unit"]], hour)
    mode = given.get("start_mode") or INTERRUPT
    if mode not in START_MODES:
        raise InvalidInput.on("events", f'Not a start mode: "{mode}".')
    if given.get("event_type") == "F" or given.get("message") is None:
        return EventForm(*timing, flow_id=_look_up(flows, given["flow"], "flow"), start_mode=mode)
    message, base = _read_message(workspace, given["message"], str(given.get("base_language") or ""))
    return EventForm(*timing, message, base, start_mode=mode)


def _find_date(tx: Transaction, workspace_id: int, given: Mapping[str, Any]) -> str:
    key = str(given.get("key") or "")
    if key in SYSTEM_DATES or find_fields(tx, workspace_id, [key]):
        return find_date(tx, workspace_id, key)
    return find_or_create_date(tx, workspace_id, str(given.get("label") or key))


def _read_message(workspace: Workspace, given: object, base: str) -> tuple[dict[str, str], str]:
    """The texts by language, and the base language, which has one. Raises InvalidInput when there is no text."""
    default = workspace.default_language
    texts = given if isinstance(given, Mapping) else {base or default: given}
    named = {default if language == OLD_BASE_LANGUAGE else str(language): text for language, text in texts.items()}
    kept = {
        language: text.strip()[:TEXT_LENGTH]
        for language, text in named.items()
        if is_language(language) and isinstance(text, str) and text.strip()
    }
    if not kept:
        raise InvalidInput.on("events", "A message without a text in a known language.")
    wanted = default if base == OLD_BASE_LANGUAGE else base
    return kept, wanted if wanted in kept else next(iter(kept))


FLOW_EVENT, MESSAGE_EVENT = "F", "M"


@dataclass(frozen=True, slots=True)
class ExportedCampaigns:
    """Campaigns for an export file, and the records of the workspace that they depend on."""

    campaigns: list[dict[str, Any]]
    group_uuids: frozenset[str]
    field_keys: frozenset[str]


def export_campaigns(tx: Transaction, workspace_id: int, uuids: Collection[str]) -> ExportedCampaigns:
    """These campaigns, oldest first, as far as they exist and are not archived; two statements for any number."""
    mine = (campaign.c.workspace_id == workspace_id) & ~campaign.c.is_archived & campaign.c.uuid.in_(sorted(uuids))
    columns = (campaign.c.id, campaign.c.uuid, campaign.c.name, group.c.uuid.label("group_uuid"), group.c.name)
    statement = select(*columns).select_from(CAMPAIGN_SOURCE).where(mine).order_by(campaign.c.created_on, campaign.c.id)
    exported: dict[int, dict[str, Any]] = {
        campaign_id: {"uuid": uuid, "name": name, "group": {"uuid": group_uuid, "name": group_name}, "events": []}
        for campaign_id, uuid, name, group_uuid, group_name in tx.execute(statement)
    }
    rows = _read_events(tx, workspace_id, exported)
    for row in rows:
        exported[row.campaign_id]["events"].append(_describe(row))
    return ExportedCampaigns(
        list(exported.values()),
        frozenset(one["group"]["uuid"] for one in exported.values()),
        frozenset(row.relative_to for row in rows if row.field_id is not None),
    )


def _read_events(tx: Transaction, workspace_id: int, campaign_ids: Collection[int]) -> list[Row[*tuple[Any, ...]]]:
    columns = campaign_event.c
    statement = (
        select(
            campaign_event,
            case(UNIT_LETTERS, value=columns.unit).label("letter"),
            RELATIVE_NAME.label("label"),
            field.c.id.label("field_id"),
            flow.c.uuid.label("flow_uuid"),
            flow.c.name.label("flow_name"),
        )
        .outerjoin(field, (field.c.workspace_id == columns.workspace_id) & (field.c.key == columns.relative_to))
        .outerjoin(flow, flow.c.id == columns.flow_id)
        .where(columns.workspace_id == workspace_id, ~columns.is_deleted, columns.campaign_id.in_(campaign_ids))
        .order_by(columns.created_on, columns.id)
    )
    return list(tx.execute(statement).all()) if campaign_ids else []


def _describe(row: Row[*tuple[Any, ...]]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "uuid": row.uuid,
        "offset": row.offset,
        "unit": row.letter,
        "event_type": FLOW_EVENT if row.message is None else MESSAGE_EVENT,
        "delivery_hour": row.delivery_hour,
        "message": row.message,
        "relative_to": {"label": row.label, "key": row.relative_to},
        "start_mode": row.start_mode,
    }
    if row.message is None:
        described["flow"] = {"uuid": row.flow_uuid, "name": row.flow_name}
    else:
        described["base_language"] = row.base_language
    return described


UNNAMED = ("base", "und")
"""What old files say for the language of texts when they were not translated."""


def import_campaigns_of_file(
    tx: Transaction, workspace: Workspace, assets: ImportedAssets, campaigns: Sequence[ExportedCampaign]
) -> list[dict[str, Any]]:
    """Brings campaigns in after the flows; their uuid, name and change. Raises ExportError.

    A campaign that says what the one here says keeps its events, which have their fires to come.
    """
    all_linked = [_link(workspace, assets, given, f"campaigns[{index}]") for index, given in enumerate(campaigns)]
    groups = _load_ids(tx, workspace.id, group)
    flows = _load_ids(tx, workspace.id, flow)
    reports = []
    for index, (given, linked) in enumerate(zip(campaigns, all_linked, strict=True)):
        known = _find_exported(tx, workspace.id, given)
        change = "created" if known is None else "updated"
        if known is not None and _says_the_same(tx, workspace.id, known, linked):
            change = "unchanged"
        else:
            try:
                made = import_campaigns(tx, workspace, [linked], groups=groups, flows=flows, is_same_site=True)
            except InvalidInput as error:
                raise ExportError(read_problem(error), f"campaigns[{index}]") from error
            known = tx.execute(select(campaign.c.uuid).where(campaign.c.id == made[0])).scalar_one()
        reports.append({"uuid": known, "name": linked["name"], "change": change})
    return reports


def make_date_fields(assets: ImportedAssets, campaigns: Sequence[ExportedCampaign]) -> None:
    """The fields from which events count. Raises ExportError for one that cannot be made."""
    for index, given in enumerate(campaigns):
        for number, event in enumerate(given.events):
            date = event.relative_to
            if date.key not in SYSTEM_DATES and not assets.ensure_field(date.key, date.name, "datetime"):
                place = f"campaigns[{index}].events[{number}].relative_to"
                raise ExportError(f'no field can have the key "{date.key}"', place)


def _load_ids(tx: Transaction, workspace_id: int, table: Table) -> dict[str, int]:
    rows = tx.execute(select(table.c.uuid, table.c.id).where(table.c.workspace_id == workspace_id))
    return {uuid: record_id for uuid, record_id in rows}


def _link(workspace: Workspace, assets: ImportedAssets, given: ExportedCampaign, place: str) -> dict[str, Any]:
    """The campaign as files write it, with its references as they are known here."""
    written = given.to_json()
    known = assets.resolve("group", given.group.uuid, given.group.name)
    if known is None:
        raise ExportError(f'there is no group "{given.group.name}" and none can be made', f"{place}.group")
    written |= {"name": given.name.strip(), "group": {"uuid": known[0], "name": known[1]}}
    for index, (event, changed) in enumerate(zip(given.events, written["events"], strict=True)):
        where = f"{place}.events[{index}]"
        if event.flow is not None:
            flow_known = assets.find("flow", event.flow.uuid, event.flow.name)
            if flow_known is None:
                raise ExportError(f'there is no flow "{event.flow.name}"', f"{where}.flow")
            changed["flow"] = {"uuid": flow_known[0], "name": flow_known[1]}
        else:
            _name_languages(changed, workspace.default_language)
    return written


def _name_languages(event: dict[str, Any], default: str) -> None:
    """Texts of an unnamed language are in the workspace's."""
    texts = {default if language in UNNAMED else language: text for language, text in event["message"].items()}
    base = event["base_language"]
    event |= {"message": texts, "base_language": default if base in UNNAMED else base}


def _says_the_same(tx: Transaction, workspace_id: int, uuid: str, linked: dict[str, Any]) -> bool:
    here = export_campaigns(tx, workspace_id, [uuid]).campaigns[0]
    return _list_sayings(here) == _list_sayings(linked)


def _list_sayings(written: dict[str, Any]) -> tuple[Any, ...]:
    """What matters of a campaign: not its UUIDs, nor the labels of fields."""
    events = [
        [
            event["offset"],
            event["unit"],
            event["event_type"],
            event["delivery_hour"],
            event["message"],
            event.get("base_language"),
            event["relative_to"]["key"],
            event["start_mode"],
            (event.get("flow") or {}).get("uuid"),
        ]
        for event in written["events"]
    ]
    return written["name"], written["group"]["uuid"], events


def _find_exported(tx: Transaction, workspace_id: int, given: ExportedCampaign) -> str | None:
    """The uuid of the campaign with this uuid, else with this name, that is not archived."""
    mine = (campaign.c.workspace_id == workspace_id) & ~campaign.c.is_archived
    named = campaign.c.name_key == name_key(given.name.strip())
    by_uuid = campaign.c.uuid == given.uuid if given.uuid else campaign.c.id < 0
    found = tx.execute(select(campaign.c.uuid).where(mine, by_uuid | named).order_by(by_uuid.desc()))
    return found.scalars().first()
