"""What is left of a contact that is deleted."""

from sqlalchemy import select

from persistence.contacts.deletion import delete_contacts
from persistence.database import Database
from persistence.tables.messages import ARCHIVED, DELETED, VISIBLE, message
from persistence.workspaces.records import Workspace
from tests.factories import id_of, make_contact, make_messages


def test_messages_lose_their_texts_whether_they_were_archived_or_not(database: Database, workspace: Workspace) -> None:
    uuid = make_contact(database, workspace)
    ids = [
        make_messages(database, workspace, uuid, text="secret", visibility=visibility)[0]
        for visibility in (VISIBLE, ARCHIVED)
    ]
    with database.writing() as tx:
        delete_contacts(tx, workspace.id, [id_of(database, uuid)])
        rows = tx.execute(select(message.c.id, message.c.text, message.c.visibility).order_by(message.c.id)).all()

    assert [tuple(row) for row in rows] == [(number, "", DELETED) for number in ids]


def test_a_message_that_was_deleted_before_does_not_change_again(database: Database, workspace: Workspace) -> None:
    uuid = make_contact(database, workspace)
    (number,) = make_messages(database, workspace, uuid, text="", visibility=DELETED)
    with database.writing() as tx:
        before = tx.execute(select(message.c.modified_on)).scalar_one()
        delete_contacts(tx, workspace.id, [id_of(database, uuid)])

        assert tx.execute(select(message.c.modified_on).where(message.c.id == number)).scalar_one() == before
