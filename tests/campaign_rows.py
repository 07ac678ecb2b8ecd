"""Campaigns and the records that they need, for tests."""

from datetime import datetime
from typing import Any

from sqlalchemy import insert, select

from persistence.campaigns.events import EventForm, create_campaign_event
from persistence.campaigns.records import create_campaign, find_any_group
from persistence.database import Database
from persistence.groups.groups import create_group
from persistence.sql.columns import new_uuid
from persistence.sql.names import name_key
from persistence.tables.campaigns import campaign, campaign_fire
from persistence.tables.contacts import contact, field, group, group_membership
from persistence.tables.flows import flow
from persistence.workspaces.records import Workspace

MOTHERS = "Mothers"


def make_group(database: Database, workspace: Workspace, name: str = MOTHERS) -> int:
    """The id of the group with this name, made if there is none."""
    with database.writing() as tx:
        mine = (group.c.workspace_id == workspace.id) & (group.c.name_key == name_key(name))
        known = tx.execute(select(group.c.id).where(mine)).scalar_one_or_none()
        return known or create_group(tx, workspace.id, name)


def make_campaign(database: Database, workspace: Workspace, name: str, group_name: str = MOTHERS) -> str:
    """A campaign on the group with this name; returns its UUID."""
    make_group(database, workspace, group_name)
    with database.writing() as tx:
        group_id = find_any_group(tx, workspace.id, group_name, field="group")
        campaign_id = create_campaign(tx, workspace.id, name, group_id)
        uuid: str = tx.execute(select(campaign.c.uuid).where(campaign.c.id == campaign_id)).scalar_one()
        return uuid


def make_flow(database: Database, workspace: Workspace, name: str, *, is_archived: bool = False) -> str:
    """A flow without any definition; returns its UUID."""
    uuid = new_uuid()
    empty: dict[str, Any] = {"results": [], "parent_refs": [], "dependencies": [], "issues": []}
    with database.writing() as tx:
        values = {"uuid": uuid, "name": name, "name_key": name_key(name), "type": "message", **empty}
        times = {"created_on": tx.now, "modified_on": tx.now}
        tx.execute(insert(flow).values(workspace_id=workspace.id, is_archived=is_archived, **values, **times))
    return uuid


def make_event(database: Database, workspace: Workspace, campaign_uuid: str, **values: Any) -> int:
    """A message event one day after `due_date` at the same time, unless `values` say otherwise; returns its id."""
    form: dict[str, Any] = {
        "relative_to": "due_date",
        "offset": 1,
        "unit": "days",
        "delivery_hour": -1,
        "message": {"eng": "Hello @contact.first_name"},
        "base_language": "eng",
    } | values
    with database.writing() as tx:
        mine = (campaign.c.workspace_id == workspace.id) & (campaign.c.uuid == campaign_uuid)
        campaign_id = tx.execute(select(campaign.c.id).where(mine)).scalar_one()
        return create_campaign_event(tx, workspace.id, campaign_id, EventForm(**form))


def make_members(database: Database, workspace: Workspace, count: int, due_date: str) -> None:
    """Contacts with this date (ISO 8601, in the only field) in the group, written straight to the tables."""
    group_id = make_group(database, workspace)
    with database.writing() as tx:
        uuid = tx.execute(select(field.c.uuid)).scalar_one()
        stored = {uuid: {"text": due_date, "datetime": due_date}}
        times = {"created_on": tx.now, "modified_on": tx.now}
        rows = [{"workspace_id": workspace.id, "uuid": new_uuid(), "fields": stored, **times} for _ in range(count)]
        tx.execute(insert(contact), rows)
        ids = tx.execute(select(contact.c.id)).scalars().all()
        mine = {"workspace_id": workspace.id, "group_id": group_id}
        tx.execute(insert(group_membership), [{**mine, "contact_id": one} for one in ids])


def scheduled(database: Database, contact_id: int | None = None) -> list[datetime]:
    """When scheduled fires are due, for one contact or all."""
    return _moments(database, contact_id, fired=False)


def fired(database: Database, contact_id: int | None = None) -> list[datetime]:
    """The times of fires that were performed."""
    return _moments(database, contact_id, fired=True)


def _moments(database: Database, contact_id: int | None, *, fired: bool) -> list[datetime]:
    statement = select(campaign_fire.c.due_on).order_by(campaign_fire.c.due_on)
    statement = statement.where(campaign_fire.c.fired_on.is_not(None) if fired else campaign_fire.c.fired_on.is_(None))
    if contact_id is not None:
        statement = statement.where(campaign_fire.c.contact_id == contact_id)
    with database.reading() as tx:
        return list(tx.execute(statement).scalars())
