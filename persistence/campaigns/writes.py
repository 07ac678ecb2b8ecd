"""Creating, changing and archiving campaigns."""

from sqlalchemy import insert, select, update

from persistence.campaigns.rescheduling import request_passes
from persistence.campaigns.v2 import require_campaign
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.sql.columns import is_uuid, new_uuid
from persistence.sql.names import check_name, check_name_is_free, name_key
from persistence.tables.campaigns import campaign
from persistence.tables.contacts import group
from persistence.workspaces import hold_workspace


def find_any_group(tx: Transaction, workspace_id: int, reference: str, *, field: str) -> int:
    """The id of the group of any kind with this uuid, else with this name (any case). Raises InvalidInput."""
    by_uuid = group.c.uuid == reference if is_uuid(reference) else group.c.id < 0
    named = by_uuid | (group.c.name_key == name_key(reference.strip()))
    statement = select(group.c.id).where(group.c.workspace_id == workspace_id, named).order_by(by_uuid.desc())
    group_id: int | None = tx.execute(statement).scalars().first()
    if group_id is None:
        raise InvalidInput.on(field, f'Nothing found for "{reference[:64]}".')
    return group_id


def create_campaign(tx: Transaction, workspace_id: int, name: str, group_id: int) -> int:
    """A new campaign on a group; returns its id. Raises InvalidInput for a bad or taken name."""
    hold_workspace(tx, workspace_id)
    name = check_name(name)
    check_name_is_free(tx, workspace_id, campaign, name, ~campaign.c.is_archived)
    values = {"uuid": new_uuid(), "name": name, "name_key": name_key(name), "group_id": group_id, "created_on": tx.now}
    statement = insert(campaign).values(workspace_id=workspace_id, **values).returning(campaign.c.id)
    return tx.execute(statement).scalar_one()


def change_campaign(tx: Transaction, workspace_id: int, uuid: str, name: str, group_id: int) -> int:
    """Rename a campaign and give it a group; another group schedules its events anew. Returns its id.

    Raises RecordMissing, for archived campaigns too, or InvalidInput.
    """
    hold_workspace(tx, workspace_id)
    campaign_id = require_campaign(tx, workspace_id, uuid)
    name = check_name(name)
    check_name_is_free(tx, workspace_id, campaign, name, ~campaign.c.is_archived, besides_id=campaign_id)
    mine = (campaign.c.workspace_id == workspace_id) & (campaign.c.id == campaign_id)
    held: int | None = tx.execute(select(campaign.c.group_id).where(mine).with_for_update()).scalar_one()
    tx.execute(update(campaign).where(mine).values(name=name, name_key=name_key(name), group_id=group_id))
    if held != group_id:
        request_passes(tx, workspace_id, campaign.c.id == campaign_id, is_retimed=True)
    return campaign_id


def find_campaign_workspace(tx: Transaction, uuid: str) -> int | None:
    """The workspace of a campaign that is not archived."""
    if not is_uuid(uuid):
        return None
    live = (campaign.c.uuid == uuid) & ~campaign.c.is_archived
    return tx.execute(select(campaign.c.workspace_id).where(live)).scalar_one_or_none()


def archive_campaign(tx: Transaction, workspace_id: int, uuid: str) -> int:
    """Put a campaign away: its events no longer fire, its name and its group are free. Returns its id.

    Raises RecordMissing.
    """
    hold_workspace(tx, workspace_id)
    campaign_id = require_campaign(tx, workspace_id, uuid)
    mine = (campaign.c.workspace_id == workspace_id) & (campaign.c.id == campaign_id)
    of_group = select(group.c.uuid, group.c.name).join(campaign, campaign.c.group_id == group.c.id)
    former = tx.execute(of_group.where(mine)).one()
    kept = {"former_group_uuid": former.uuid, "former_group_name": former.name}
    tx.execute(update(campaign).where(mine).values(is_archived=True, **kept))
    request_passes(tx, workspace_id, campaign.c.id == campaign_id)
    return campaign_id
