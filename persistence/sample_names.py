"""Gives records of the demo workspace the UUIDs and names by which the examples of the contract call them, so that
"Execute" in the explorer works on an example as it is. Where another record has the UUID already, nothing changes."""

from datetime import timedelta

from sqlalchemy import Table, select

from persistence.broadcasts.form import read_form
from persistence.broadcasts.writes import create_broadcast
from persistence.campaigns.writes import create_campaign
from persistence.database import Transaction
from persistence.definitions.assets import adopt_uuid
from persistence.resthooks.resthooks import ensure_resthook
from persistence.sql.columns import time_text
from persistence.tables.accounts import user
from persistence.tables.campaigns import campaign
from persistence.tables.channels import channel
from persistence.tables.contacts import contact, group
from persistence.tables.messages import broadcast, label
from persistence.tables.tickets import OPEN, ticket, topic
from persistence.topics import create_topic
from persistence.users import add_member
from persistence.workspaces import Workspace

FLOW = "c2a7b6f0-3f19-4d53-9f39-77a0f4a1a111"
CONTACTS = (
    "6d1f0a52-5f0e-4a4e-8d09-3d0c0a1f7b21",
    "09d23a05-47fe-41e4-bfe9-b8f6b119e9ab",
    "0c7b6a59-4838-4726-9516-05f4e3d2c1b0",
)
GROUP, LABEL = "9a3c5b1e-1c7d-4e9b-a5a0-0d1e2f3a4b5c", "51a0c0a4-8a6b-4a0c-9b0e-6f2d1c3b4a5f"
CAMPAIGN, BROADCAST = "2e0d9d2f-6b0a-4f0c-8f2e-b7d3c5a91c44", "0197a6c1-52d0-7a0e-9f57-5d0c1b7e2a11"
TICKET, TOPIC = "0197a700-1111-7222-8333-944455566677", "d0a1b2c3-d4e5-4f60-8718-293a4b5c6d7e"
CHANNEL, USER = "3f0c1a52-8b7e-4d19-9a60-5c2f7be0d411", "1f2e3d4c-5b6a-4798-8071-625344352617"
EMAIL, RESTHOOK = "joel@example.org", "new-registration"


def name_examples(
    tx: Transaction, workspace: Workspace, *, channel_id: int, group_id: int, label_id: int, user_id: int
) -> None:
    """Names records of a filled workspace that nobody has seen yet, and makes those that are lacking."""
    mine = contact.c.workspace_id == workspace.id
    ticketed = select(ticket.c.contact_id).where(ticket.c.workspace_id == workspace.id, ticket.c.status == OPEN)
    free = select(contact.c.id).where(mine, contact.c.id.not_in(ticketed)).order_by(contact.c.id).limit(len(CONTACTS))
    for contact_id, uuid in zip(tx.execute(free).scalars().all(), CONTACTS, strict=False):
        adopt_uuid(tx, contact, contact_id, uuid)
    for table, record_id, uuid in ((channel, channel_id, CHANNEL), (group, group_id, GROUP), (label, label_id, LABEL)):
        adopt_uuid(tx, table, record_id, uuid)
    adopt_uuid(tx, topic, create_topic(tx, workspace.id, "Home visits"), TOPIC)
    _name_first(tx, workspace, ticket, TICKET)
    colleague = add_member(tx, workspace.id, EMAIL, "agent", first_name="Joel", last_name="Habimana")
    adopt_uuid(tx, user, colleague.id, USER)
    ensure_resthook(tx, workspace.id, RESTHOOK)
    adopt_uuid(tx, campaign, create_campaign(tx, workspace.id, "Antenatal care", group_id), CAMPAIGN)
    later = time_text(tx.now + timedelta(days=300))
    notice = {"text": {"eng": "The clinic has a new roof. Come and see!"}, "groups": [GROUP], "scheduled_on": later}
    form = read_form(tx, workspace, {**notice, "base_language": "eng"})
    adopt_uuid(tx, broadcast, create_broadcast(tx, workspace.id, form), BROADCAST)


def _name_first(tx: Transaction, workspace: Workspace, table: Table, uuid: str) -> None:
    first = select(table.c.id).where(table.c.workspace_id == workspace.id).order_by(table.c.id).limit(1)
    adopt_uuid(tx, table, tx.execute(first).scalar_one(), uuid)
