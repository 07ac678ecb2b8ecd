"""Records that tests begin with, written straight to the tables."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import insert, select

from flows.urns import Urn
from persistence.contacts.writes import ContactChange, create_contact
from persistence.database import Database
from persistence.fields import create_field
from persistence.messages.incoming import note_stored
from persistence.sql.columns import new_uuid
from persistence.sql.names import name_key
from persistence.tables.contacts import contact, field, group
from persistence.tables.messages import HANDLED, INCOMING, label, message
from persistence.workspaces.records import Workspace


def make_contact(database: Database, workspace: Workspace, phone: str | None = None, name: str = "Amina") -> str:
    """An active contact; returns its UUID."""
    urns = [Urn("tel", phone)] if phone else []
    with database.writing() as tx:
        contact_id = create_contact(tx, workspace, ContactChange(name=name, urns=urns))
        uuid: str = tx.execute(select(contact.c.uuid).where(contact.c.id == contact_id)).scalar_one()
        return uuid


def id_of(database: Database, contact_uuid: str) -> int:
    with database.reading() as tx:
        contact_id: int = tx.execute(select(contact.c.id).where(contact.c.uuid == contact_uuid)).scalar_one()
        return contact_id


def make_contacts(database: Database, workspace: Workspace, count: int) -> None:
    """Many contacts without address, all of one moment."""
    with database.writing() as tx:
        times = {"created_on": tx.now, "modified_on": tx.now}
        rows = [{"workspace_id": workspace.id, "uuid": new_uuid(), "fields": {}, **times} for _ in range(count)]
        tx.execute(insert(contact), rows)


def make_messages(
    database: Database, workspace: Workspace, contact_uuid: str, count: int = 1, **values: Any
) -> list[int]:
    """Messages of one moment, handled incoming ones unless `values` say otherwise; returns their ids, oldest first."""
    contact_id = id_of(database, contact_uuid)
    with database.writing() as tx:
        row = {
            "workspace_id": workspace.id,
            "contact_id": contact_id,
            "direction": INCOMING,
            "status": HANDLED,
            "text": "hello",
            "attachments": [],
            "quick_replies": [],
            "created_on": tx.now,
            "modified_on": tx.now,
        } | values
        rows = [row | {"uuid": new_uuid()} for _ in range(count)]
        note_stored(tx, workspace.id, tx.execute(insert(message).returning(message.c.id), rows).scalars().all())
        made = select(message.c.id).where(message.c.uuid.in_([one["uuid"] for one in rows]))
        return list(tx.execute(made.order_by(message.c.id)).scalars())


def make_named(database: Database, workspace: Workspace, kind: Any, names: Sequence[str], **values: Any) -> list[str]:
    """Groups or labels (`kind` is their table) with these names, of one moment; their uuids in order."""
    with database.writing() as tx:
        times = {"created_on": tx.now} | ({"modified_on": tx.now} if "modified_on" in kind.c else {})
        rows = [
            {"workspace_id": workspace.id, "uuid": new_uuid(), "name": name, "name_key": name_key(name)}
            for name in names
        ]
        tx.execute(insert(kind), [row | times | values for row in rows])
        return [str(row["uuid"]) for row in rows]


def make_field(database: Database, workspace: Workspace, name: str, kind: str = "text", access: str = "view") -> str:
    """A contact field; its key."""
    with database.writing() as tx:
        field_id = create_field(tx, workspace.id, name, kind)
        mine = field.c.id == field_id
        tx.execute(field.update().where(mine).values(agent_access=access))
        key: str = tx.execute(select(field.c.key).where(mine)).scalar_one()
        return key


def fill_workspace(database: Database, workspace: Workspace) -> None:
    """A few records of the main kinds, so that lists, filters and lookups have something to find."""
    uuid = make_contact(database, workspace, "+250788000111")
    make_contact(database, workspace, "+250788000222", name="Bosco")
    make_messages(database, workspace, uuid, 3)
    make_named(database, workspace, group, ["Reporters"])
    make_named(database, workspace, label, ["Complaint"])
    make_field(database, workspace, "Age", "number")
