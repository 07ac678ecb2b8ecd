"""Contacts, their URNs and memberships: the tables and the v2 record."""

from sqlalchemy import (
    select,
)

from persistence.database import Transaction
from persistence.tables.contacts import contact


def find_contact(tx: Transaction, workspace_id: int, uuid: str) -> int | None:
    """The id of a contact that is not deleted."""
    mine = (contact.c.workspace_id == workspace_id) & (contact.c.uuid == uuid) & ~contact.c.is_deleted
    return tx.execute(select(contact.c.id).where(mine)).scalar_one_or_none()
