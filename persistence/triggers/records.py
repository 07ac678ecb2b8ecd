"""Triggers as commands show them."""

from sqlalchemy import select

from persistence.channels.former_channels import SEEN_ID, SEEN_REF, join_channels
from persistence.database import Transaction
from persistence.sql.json_sql import as_text, declare_record, json_list, json_record, json_record_or_null
from persistence.tables.contacts import CONTACT_REF, GROUP_REF, contact, group
from persistence.tables.flows import FLOW_REF, flow
from persistence.tables.triggers import trigger, trigger_contact, trigger_group

_GROUPS = (
    select(json_record(GROUP_REF).label("item"))
    .join(trigger_group, trigger_group.c.group_id == group.c.id)
    .where(trigger_group.c.trigger_id == trigger.c.id)
    .order_by(group.c.name_key)
    .correlate(trigger)
)
_CONTACTS = (
    select(json_record(CONTACT_REF).label("item"))
    .join(trigger_contact, trigger_contact.c.contact_id == contact.c.id)
    .where(trigger_contact.c.trigger_id == trigger.c.id)
    .order_by(contact.c.id)
    .correlate(trigger)
)

TRIGGER_RECORD = declare_record(
    {
        "uuid": trigger.c.uuid,
        "type": trigger.c.type,
        "flow": json_record(FLOW_REF),
        "keywords": trigger.c.keywords,
        "match": trigger.c.match,
        "channel": json_record_or_null(SEEN_ID, SEEN_REF),
        "groups": json_list(_GROUPS.where(~trigger_group.c.is_excluded)),
        "exclude_groups": json_list(_GROUPS.where(trigger_group.c.is_excluded)),
        "contacts": json_list(_CONTACTS),
        "repeat": trigger.c.repeat,
        "days": trigger.c.days,
        "next_fire_on": trigger.c.next_fire_on,
        "archived": trigger.c.is_archived,
        "created_on": trigger.c.created_on,
    }
)
SOURCE = join_channels(trigger.join(flow, flow.c.id == trigger.c.flow_id), trigger)


def list_triggers(tx: Transaction, workspace_id: int) -> list[str]:
    """All triggers of a workspace as JSON texts, newest first."""
    statement = select(as_text(TRIGGER_RECORD)).select_from(SOURCE).where(trigger.c.workspace_id == workspace_id)
    return list(tx.execute(statement.order_by(trigger.c.created_on.desc(), trigger.c.id.desc())).scalars())


def read_trigger(tx: Transaction, workspace_id: int, trigger_id: int) -> str:
    """One trigger as JSON text."""
    mine = (trigger.c.workspace_id == workspace_id) & (trigger.c.id == trigger_id)
    return tx.execute(select(as_text(TRIGGER_RECORD)).select_from(SOURCE).where(mine)).scalar_one()
