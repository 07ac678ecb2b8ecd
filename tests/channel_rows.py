"""Rows that tests of channels, deliveries and alarms begin with."""

from datetime import datetime
from typing import Any

from sqlalchemy import insert, update

from flows.urns import Urn
from persistence.contacts.urns import ensure_owners
from persistence.database import Database
from persistence.messages.incoming import Received, store_received
from persistence.tables.channels import channel
from persistence.tables.contacts import contact, contact_urn
from persistence.tables.messages import OUTGOING, QUEUED, message
from persistence.workspaces.records import Workspace


def add_channel(database: Database, workspace: Workspace, **values: Any) -> int:
    """A phone of the workspace, seen now; returns its id."""
    with database.writing() as tx:
        row = {
            "workspace_id": workspace.id,
            "type": "android",
            "name": "Front desk",
            "address": "+254733555010",
            "country": "KE",
            "schemes": ["tel"],
            "created_on": tx.now,
            "last_seen": tx.now,
        }
        return tx.execute(insert(channel).values(row | values).returning(channel.c.id)).scalar_one()


def change_channel(database: Database, channel_id: int, **values: Any) -> None:
    with database.writing() as tx:
        tx.execute(update(channel).where(channel.c.id == channel_id).values(values))


def add_contact(database: Database, workspace: Workspace, phone: str = "+254722000111", name: str = "Amina") -> int:
    """A contact with a phone number; returns its id."""
    with database.writing() as tx:
        row = {
            "workspace_id": workspace.id,
            "name": name,
            "fields": {},
            "created_on": tx.now,
            "modified_on": tx.now,
        }
        contact_id = tx.execute(insert(contact).values(row).returning(contact.c.id)).scalar_one()
        urn = {"workspace_id": workspace.id, "contact_id": contact_id, "scheme": "tel", "path": phone}
        tx.execute(insert(contact_urn).values(urn))
        return contact_id


def add_outgoing(
    database: Database,
    workspace: Workspace,
    channel_id: int,
    contact_id: int,
    created_on: datetime,
    status: str = QUEUED,
    **values: Any,
) -> int:
    """An outgoing message; returns its id."""
    with database.writing() as tx:
        row = {
            "workspace_id": workspace.id,
            "contact_id": contact_id,
            "channel_id": channel_id,
            "direction": OUTGOING,
            "status": status,
            "attachments": [],
            "quick_replies": [],
            "created_on": created_on,
            "modified_on": created_on,
        }
        return tx.execute(insert(message).values(row | values).returning(message.c.id)).scalar_one()


def receive_messages(database: Database, workspace: Workspace, count: int) -> None:
    """Messages of one contact that came in through a phone of the workspace and are not handled yet."""
    channel_id = add_channel(database, workspace)
    with database.writing() as tx:
        urn = Urn("tel", "+250788123456")
        owner = ensure_owners(tx, workspace.id, [urn], channel_id=channel_id)[urn.identity]
        reports = [Received(owner, "Hello", tx.now, f"report {number}") for number in range(count)]
        store_received(tx, workspace.id, channel_id, reports)
