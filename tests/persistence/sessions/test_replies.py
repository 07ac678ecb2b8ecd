"""The channel by which a message of a flow goes.

Contacts as flows see them.
"""

import pytest
from sqlalchemy import select, update

from persistence.database import Database
from persistence.sessions.replies import FlowMessage, load_contacts, send_replies
from persistence.tables.accounts import user
from persistence.tables.channels import channel
from persistence.tables.messages import message
from persistence.users import add_member, find_member
from persistence.workspaces.records import Workspace
from tests.channel_rows import add_channel, add_contact
from tests.factories import id_of, make_contact
from tests.run_rows import uuid_of
from tests.ticket_rows import add_ticket

NUMBER = "+254722000111"


@pytest.mark.parametrize("chosen", [0, 1])
def test_a_message_goes_by_the_channel_that_the_engine_chose(
    database: Database, workspace: Workspace, chosen: int
) -> None:
    ids = [add_channel(database, workspace, name=name) for name in ("First", "Second")]
    contact_id = add_contact(database, workspace, NUMBER)
    channel_uuid = uuid_of(database, channel, ids[chosen])
    content = {"text": "Hi", "urn": f"tel:{NUMBER}", "channel": {"uuid": channel_uuid}}
    with database.writing() as tx:
        send_replies(tx, workspace.id, [FlowMessage(contact_id, None, content)])

        assert tx.execute(select(message.c.channel_id)).scalars().all() == [ids[chosen]]


EMAIL = "ben@example.org"


@pytest.mark.parametrize(
    ("first", "last", "name"), [("Ben", "Mugisha", "Ben Mugisha"), ("Ben", "", "Ben"), ("", "", "")]
)
def test_a_ticket_names_its_assignee(
    database: Database, workspace: Workspace, first: str, last: str, name: str
) -> None:
    free, assigned = (id_of(database, make_contact(database, workspace)) for _ in range(2))
    with database.writing() as tx:
        add_member(tx, workspace.id, EMAIL, "agent")
        user_id = find_member(tx, workspace.id, EMAIL)
        tx.execute(update(user).where(user.c.id == user_id).values(first_name=first, last_name=last))
    add_ticket(database, workspace, free)
    add_ticket(database, workspace, assigned, assignee_id=user_id)
    with database.reading() as tx:
        found = load_contacts(tx, workspace.id, [free, assigned])

    assert [each.assignee for each in found[free].tickets] == [None]
    (assignee,) = (each.assignee for each in found[assigned].tickets)
    assert assignee is not None
    assert (assignee["name"], assignee["email"]) == (name, EMAIL)
