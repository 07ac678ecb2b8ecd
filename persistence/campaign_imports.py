"""Campaigns brought in from export files (flow format, export files)."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import insert, select, update

from flows.languages import is_language
from persistence.campaign_event_summaries import UNITS
from persistence.campaign_event_writes import (
    EventForm,
    create_campaign_event,
    delete_campaign_events,
    find_date,
    find_or_create_date,
)
from persistence.campaign_events import INTERRUPT, START_MODES, SYSTEM_DATES, campaign_event
from persistence.campaigns import campaign
from persistence.columns import is_uuid, new_uuid
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.fields import find_fields
from persistence.names import NAME_LENGTH, check_name, check_name_is_free, name_key
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
        campaign_id = int(tx.execute(statement.returning(campaign.c.id)).scalar_one())
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
    found: int | None = tx.execute(select(campaign.c.id).where(mine).order_by(by_uuid.desc())).scalars().first()
    return found


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


def _read_message(workspace: Workspace, given: Any, base: str) -> tuple[dict[str, str], str]:
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
