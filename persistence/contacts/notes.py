"""Notes of people of a workspace on contacts."""

from typing import Any

from sqlalchemy import ColumnElement, FromClause, delete, func, literal_column, select

from persistence.database import Transaction
from persistence.deletions import NOTE, note_deleted
from persistence.errors import NotAllowed, RecordMissing
from persistence.groups.members import hold_contacts
from persistence.lists import ListSpec, belongs_to, equals
from persistence.sql.json_sql import declare_record, json_record, json_record_or_null
from persistence.sql.pages import Order
from persistence.tables.accounts import user
from persistence.tables.contacts import CONTACT_REF, contact, contact_note

rows = contact_note.c


def refer_to_user(people: FromClause) -> ColumnElement[Any]:
    """A user by address and name, or null."""
    name = func.trim(people.c.first_name + literal_column("' '") + people.c.last_name)
    return json_record_or_null(people.c.id, {"email": people.c.email, "name": name})


NOTE_FIELDS: dict[str, ColumnElement[Any]] = {
    "uuid": rows.uuid,
    "contact": json_record(CONTACT_REF),
    "user": refer_to_user(user),
    "text": rows.text,
    "created_on": rows.created_on,
}
SOURCE: FromClause = contact_note.join(contact, contact.c.id == rows.contact_id).outerjoin(
    user, user.c.id == rows.user_id
)

CONTACT_NOTES = ListSpec(
    contact_note,
    declare_record(NOTE_FIELDS),
    Order(rows.created_on, rows.id),
    source=SOURCE,
    filters={"uuid": equals(rows.uuid), "contact": belongs_to(rows.contact_id, contact)},
)


def write_note(tx: Transaction, workspace_id: int, contact_id: int, user_id: int, text: str) -> int:
    """Write a note on a contact; returns its id. Raises LostRace if the contact was deleted since the caller found
    it.
    """
    hold_contacts(tx, workspace_id, [contact_id])
    values = {"contact_id": contact_id, "user_id": user_id, "text": text, "created_on": tx.now}
    return tx.insert(contact_note, workspace_id=workspace_id, **values)


def delete_note(tx: Transaction, workspace_id: int, uuid: str, *, own_of: int | None = None) -> None:
    """Delete a note; `own_of` is the user who may only delete their own. Raises RecordMissing and NotAllowed."""
    mine = (rows.workspace_id == workspace_id) & (rows.uuid == uuid)
    found = tx.execute(select(rows.user_id).where(mine)).first()
    if found is None:
        raise RecordMissing
    if own_of is not None and found.user_id != own_of:
        raise NotAllowed("Agents delete only their own notes.")
    if not tx.execute(delete(contact_note).where(mine)).rowcount:
        raise RecordMissing
    note_deleted(tx, workspace_id, NOTE, [uuid])
