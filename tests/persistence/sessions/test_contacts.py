"""Contacts as flows see them."""

import pytest
from sqlalchemy import update

from persistence.database import Database
from persistence.sessions.contacts import load_contacts
from persistence.tables.accounts import user
from persistence.users import add_member, find_member
from persistence.workspaces import Workspace
from tests.factories import id_of, make_contact
from tests.ticket_rows import add_ticket

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
