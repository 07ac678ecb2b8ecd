"""Tickets that tests begin with."""

from typing import Any

from sqlalchemy import select

from persistence.database import Database
from persistence.tables.contacts import ticket
from persistence.tickets.actions import NewTicket, open_ticket
from persistence.workspaces.records import Workspace


def add_ticket(database: Database, workspace: Workspace, contact_id: int, **values: Any) -> str:
    """An open ticket of a contact; returns its UUID."""
    with database.writing() as tx:
        ticket_id = open_ticket(tx, workspace, NewTicket(contact_id, **values))
        uuid: str = tx.execute(select(ticket.c.uuid).where(ticket.c.id == ticket_id)).scalar_one()
        return uuid
