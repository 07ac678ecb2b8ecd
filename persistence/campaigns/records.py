"""Campaigns, events relative to a date of each member of a group, as both generations show them, and their writes."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import ColumnElement, case, func, literal, or_, select

from persistence.campaigns.fires import drop_past_fires, request_passes
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.lists import Condition, ListQuery, ListSpec, equals, one_of, within
from persistence.pages import Order
from persistence.records import Record, optional
from persistence.sql.columns import is_uuid
from persistence.sql.names import check_room, find_all_called, find_id, free_name, is_called, name_some, require_id
from persistence.statements import update
from persistence.tables.campaigns import CAMPAIGN_REF, campaign, campaign_event
from persistence.tables.contacts import field, group
from persistence.tables.flows import FLOW_REF, flow
from persistence.workspaces.records import hold_workspace

CAMPAIGNS_PER_WORKSPACE = 1000
"""Archived ones do not count."""
CAMPAIGN_RECORD = Record(
    {
        "uuid": campaign.c.uuid,
        "name": campaign.c.name,
        "archived": campaign.c.is_archived,
        "group": Record(
            {
                "uuid": func.coalesce(group.c.uuid, campaign.c.former_group_uuid),
                "name": func.coalesce(group.c.name, campaign.c.former_group_name),
            }
        ),
        "created_on": campaign.c.created_on,
    }
)
CAMPAIGN_SOURCE = campaign.outerjoin(group, group.c.id == campaign.c.group_id)

SYSTEM_DATES = {"created_on": "Created On", "last_seen_on": "Last Seen On"}
"""The names of the dates that every contact has, by key."""

RELATIVE_NAME = case(
    *(
        (campaign_event.c.relative_to == literal(key, literal_execute=True), literal(name, literal_execute=True))
        for key, name in SYSTEM_DATES.items()
    ),
    else_=field.c.name,
)

CAMPAIGN_EVENT_RECORD = Record(
    {
        "uuid": campaign_event.c.uuid,
        "campaign": Record(CAMPAIGN_REF),
        "relative_to": Record({"key": campaign_event.c.relative_to, "name": RELATIVE_NAME, "label": RELATIVE_NAME}),
        "offset": campaign_event.c.offset,
        "unit": campaign_event.c.unit,
        "delivery_hour": campaign_event.c.delivery_hour,
        "flow": optional(flow.c.uuid, FLOW_REF),
        "message": campaign_event.c.message,
        "created_on": campaign_event.c.created_on,
        "error": campaign_event.c.error,
    }
)
CAMPAIGN_EVENT_SOURCE = (
    campaign_event.join(campaign, campaign.c.id == campaign_event.c.campaign_id)
    .outerjoin(
        field,
        (field.c.workspace_id == campaign_event.c.workspace_id) & (field.c.key == campaign_event.c.relative_to),
    )
    .outerjoin(flow, flow.c.id == campaign_event.c.flow_id)
)


def _in_use(query: ListQuery) -> list[Condition]:
    """Archived campaigns are listed only with the filters `uuid` and `archived`."""
    return [] if {"uuid", "archived"} & query.values.keys() else [~campaign.c.is_archived]


CAMPAIGNS = ListSpec(
    campaign,
    CAMPAIGN_RECORD,
    Order(campaign.c.created_on, campaign.c.id),
    source=CAMPAIGN_SOURCE,
    standing=_in_use,
    filters={
        "uuid": equals(campaign.c.uuid),
        "archived": equals(campaign.c.is_archived),
        **within(campaign.c.created_on),
    },
)


def find_campaign(tx: Transaction, workspace_id: int, uuid: str) -> int | None:
    """The id of the campaign with this uuid that is not archived."""
    return find_id(tx, workspace_id, campaign, uuid, ~campaign.c.is_archived)


def require_campaign(tx: Transaction, workspace_id: int, uuid: str) -> int:
    """The id of a campaign that is not archived. Raises RecordMissing."""
    return require_id(tx, workspace_id, campaign, uuid, ~campaign.c.is_archived)


CAMPAIGNS_V1 = replace(
    CAMPAIGNS,
    record=Record(
        {
            "uuid": campaign.c.uuid,
            "name": campaign.c.name,
            "group_uuid": group.c.uuid,
            "group": group.c.name,
            "campaign": campaign.c.id,
            "created_on": campaign.c.created_on,
        }
    ),
    standing=[~campaign.c.is_archived],
    filters={"uuid": one_of(campaign.c.uuid), **within(campaign.c.created_on)},
)


def find_any_group(tx: Transaction, workspace_id: int, reference: str, *, field: str) -> int:
    """The id of the group of any kind with this UUID, otherwise with this name (in any case). Raises InvalidInput."""
    return require_id(tx, workspace_id, group, reference, field=field, by_name=True)


def create_campaign(tx: Transaction, workspace_id: int, name: str, group_id: int) -> int:
    """Create a campaign for a group; returns its id. Raises InvalidInput for a bad or taken name, LimitReached at the
    workspace's limit.
    """
    hold_workspace(tx, workspace_id)
    naming = free_name(tx, workspace_id, campaign, name, ~campaign.c.is_archived)
    _check_room(tx, workspace_id)
    return tx.insert(campaign, workspace_id=workspace_id, group_id=group_id, created_on=tx.now, **naming)


def change_campaign(tx: Transaction, workspace_id: int, uuid: str, name: str, group_id: int) -> int:
    """Set the name and the group of a campaign; a changed group reschedules its events. Returns its id. Raises
    RecordMissing, also for archived campaigns, or InvalidInput.
    """
    hold_workspace(tx, workspace_id)
    campaign_id = require_campaign(tx, workspace_id, uuid)
    naming = free_name(tx, workspace_id, campaign, name, ~campaign.c.is_archived, besides_id=campaign_id)
    mine = (campaign.c.workspace_id == workspace_id) & (campaign.c.id == campaign_id)
    held = tx.execute(select(campaign.c.group_id).where(mine).with_for_update()).scalar_one()
    tx.execute(update(campaign).where(mine).values(group_id=group_id, **naming))
    if held != group_id:
        request_passes(tx, workspace_id, campaign.c.id == campaign_id, is_retimed=True)
    return campaign_id


def find_campaign_workspace(tx: Transaction, uuid: str) -> int | None:
    """The workspace of a campaign, archived or not."""
    if not is_uuid(uuid):
        return None
    return tx.execute(select(campaign.c.workspace_id).where(campaign.c.uuid == uuid)).scalar_one_or_none()


def find_campaigns(tx: Transaction, workspace_id: int, uuids: Sequence[str]) -> list[int]:
    """The ids of campaigns, archived or not, each once and in the order in which they are locked. Raises
    InvalidInput."""
    return sorted({row.id for row in find_all_called(tx, workspace_id, campaign, uuids, "campaigns")})


def archive_campaign(tx: Transaction, workspace_id: int, uuid: str) -> int:
    """Archive a campaign: its events no longer fire, its name can be used again, and its group can be deleted. Returns
    its id. Raises RecordMissing.
    """
    hold_workspace(tx, workspace_id)
    campaign_id = require_campaign(tx, workspace_id, uuid)
    put_away_campaign(tx, workspace_id, campaign_id)
    return campaign_id


def put_away_campaign(tx: Transaction, workspace_id: int, campaign_id: int) -> None:
    """Archives a campaign as `archive_campaign` does; an archived one stays as it is."""
    hold_workspace(tx, workspace_id)
    mine = (campaign.c.workspace_id == workspace_id) & (campaign.c.id == campaign_id)
    of_group = select(group.c.uuid, group.c.name).join(campaign, campaign.c.group_id == group.c.id)
    found = tx.execute(of_group.where(mine, ~campaign.c.is_archived)).first()
    if found is None:
        return
    former = {"former_group_uuid": found.uuid, "former_group_name": found.name}
    tx.execute(update(campaign).where(mine).values(is_archived=True, **former))
    request_passes(tx, workspace_id, campaign.c.id == campaign_id)


def restore_campaign(tx: Transaction, workspace_id: int, campaign_id: int, group_id: int | None = None) -> None:
    """Restores an archived campaign, for another group if one is given: its events are scheduled anew, for times from
    now on. Raises InvalidInput if its name is taken, its group was deleted, or what its events need is missing, and
    LimitReached.
    """
    hold_workspace(tx, workspace_id)
    mine = (campaign.c.workspace_id == workspace_id) & (campaign.c.id == campaign_id)
    columns = (campaign.c.name, campaign.c.group_id, campaign.c.is_archived)
    name, held, is_archived = tx.execute(select(*columns).where(mine).with_for_update()).one()
    if not is_archived:
        return
    group_id = held if group_id is None else group_id
    if group_id is None:
        raise InvalidInput.on("group", f'The group of "{name}" was deleted: give another one.', "required")
    free_name(tx, workspace_id, campaign, name, ~campaign.c.is_archived, field="campaigns")
    _require_what_events_need(tx, workspace_id, campaign_id)
    _check_room(tx, workspace_id)
    former = {"former_group_uuid": None, "former_group_name": None}
    tx.execute(update(campaign).where(mine).values(is_archived=False, group_id=group_id, **former))
    drop_past_fires(tx, workspace_id, campaign_id)
    request_passes(tx, workspace_id, campaign.c.id == campaign_id, is_retimed=True)


def _check_room(tx: Transaction, workspace_id: int) -> None:
    check_room(tx, workspace_id, campaign, ~campaign.c.is_archived, limit=CAMPAIGNS_PER_WORKSPACE)


def _require_what_events_need(tx: Transaction, workspace_id: int, campaign_id: int) -> None:
    """Raises InvalidInput if events start archived flows, or count from fields that were deleted meanwhile."""
    theirs = (campaign_event.c.campaign_id == campaign_id) & ~campaign_event.c.is_deleted
    source = select(flow.c.name, campaign_event.c.relative_to).select_from(CAMPAIGN_EVENT_SOURCE)
    has_no_date = RELATIVE_NAME.is_(None)
    is_lacking = or_(flow.c.is_archived, has_no_date)
    found = source.add_columns(has_no_date).where(campaign_event.c.workspace_id == workspace_id, theirs, is_lacking)
    lacking = {
        f'the field "{key}"' if is_dateless else f'the flow "{name}"' for name, key, is_dateless in tx.execute(found)
    }
    if lacking:
        needed = name_some(sorted(lacking))
        raise InvalidInput.on("campaigns", f"Its events need {needed}, which were archived or deleted.")


def living_events_of(workspace_id: int) -> list[ColumnElement[bool]]:
    """The conditions for existing events of campaigns that are not archived."""
    living = select(campaign.c.id).where(campaign.c.workspace_id == workspace_id, ~campaign.c.is_archived)
    return [
        campaign_event.c.workspace_id == workspace_id,
        ~campaign_event.c.is_deleted,
        campaign_event.c.campaign_id.in_(living),
    ]


def living_events(query: ListQuery) -> list[Condition]:
    """The standing conditions of events: they exist, and their campaigns are not archived."""
    return living_events_of(query.workspace.id)


def _of_campaign(query: ListQuery, reference: str) -> Condition:
    mine = (campaign.c.workspace_id == query.workspace.id) & ~campaign.c.is_archived
    return campaign_event.c.campaign_id.in_(select(campaign.c.id).where(mine, is_called(campaign, reference)))


CAMPAIGN_EVENTS = ListSpec(
    campaign_event,
    CAMPAIGN_EVENT_RECORD,
    Order(campaign_event.c.created_on, campaign_event.c.id),
    source=CAMPAIGN_EVENT_SOURCE,
    standing=living_events,
    filters={"uuid": equals(campaign_event.c.uuid), "campaign": _of_campaign},
)
