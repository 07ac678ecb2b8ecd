"""What revision 0010 does with people: their addresses, and the tickets of those who cannot act on them."""

import pytest
from sqlalchemy import delete, select, update

from persistence.database import Database
from persistence.migrations import downgrade, upgrade
from persistence.tables.accounts import membership, user
from persistence.tables.contacts import ticket, ticket_event
from persistence.users import add_member, find_member
from persistence.workspaces.records import Workspace
from tests.channel_rows import add_contact
from tests.ticket_rows import add_ticket

JOEL = "joel@example.org"


@pytest.mark.own_session
@pytest.mark.parametrize(("role", "stays"), [("agent", True), ("viewer", False), (None, False)])
def test_open_tickets_of_those_who_cannot_act_on_them_are_nobodys_again(
    database: Database, workspace: Workspace, role: str | None, stays: bool
) -> None:
    with database.writing() as tx:
        joel = add_member(tx, workspace.id, JOEL, "agent").id
    add_ticket(database, workspace, add_contact(database, workspace), assignee_id=joel)
    downgrade(database.engine, "0009")
    with database.writing() as tx:
        changed = delete(membership) if role is None else update(membership).values(role=role)
        tx.execute(changed.where(membership.c.user_id == joel))
        before = tx.execute(select(ticket.c.modified_on)).scalar_one()

    upgrade(database.engine)

    with database.reading() as tx:
        row = tx.execute(select(ticket.c.assignee_id, ticket.c.modified_on)).one()
        told = tx.execute(select(ticket_event.c.type).order_by(ticket_event.c.id)).scalars().all()
    assert (row.assignee_id == joel, row.modified_on == before) == (stays, stays)
    assert told == (["opened"] if stays else ["opened", "assigned"])


@pytest.mark.own_session
def test_addresses_get_their_one_form_of_unicode(database: Database, workspace: Workspace) -> None:
    with database.writing() as tx:
        jose = add_member(tx, workspace.id, "jos\u00e9@example.org", "agent").id
    downgrade(database.engine, "0009")
    with database.writing() as tx:
        tx.execute(update(user).where(user.c.id == jose).values(email_key="jose\u0301@example.org"))

    upgrade(database.engine)

    with database.reading() as tx:
        assert find_member(tx, workspace.id, "JOSE\u0301@example.org") == jose
