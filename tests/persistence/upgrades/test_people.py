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

JOEL, BEA, NUR = "joel@example.org", "bea@example.org", "nur@example.org"
STAY = {JOEL: True, BEA: False, NUR: False}
"""Whether tickets stay with one who is an agent, becomes a viewer, is no member any more."""


@pytest.mark.own_session
def test_addresses_get_their_one_form_and_tickets_of_those_who_cannot_act_on_them_are_nobodys_again(
    database: Database, workspace: Workspace
) -> None:
    with database.writing() as tx:
        people = {email: add_member(tx, workspace.id, email, "agent").id for email in STAY}
        jose = add_member(tx, workspace.id, "jos\u00e9@example.org", "agent").id
    for number, person in enumerate(people.values()):
        somebody = add_contact(database, workspace, f"+25472200011{number}")
        add_ticket(database, workspace, somebody, assignee_id=person)
    with database.reading() as tx:
        tickets = {person: each for each, person in tx.execute(select(ticket.c.id, ticket.c.assignee_id)).all()}
    downgrade(database.engine, "0009")
    with database.writing() as tx:
        tx.execute(update(membership).where(membership.c.user_id == people[BEA]).values(role="viewer"))
        tx.execute(delete(membership).where(membership.c.user_id == people[NUR]))
        tx.execute(update(user).where(user.c.id == jose).values(email_key="jose\u0301@example.org"))
        before = {each: time for each, time in tx.execute(select(ticket.c.id, ticket.c.modified_on))}

    upgrade(database.engine)

    with database.reading() as tx:
        assert find_member(tx, workspace.id, "JOSE\u0301@example.org") == jose
        rows = {row.id: row for row in tx.execute(select(ticket.c.id, ticket.c.assignee_id, ticket.c.modified_on))}
        told = tx.execute(select(ticket_event.c.ticket_id, ticket_event.c.type).order_by(ticket_event.c.id)).all()
    for email, stays in STAY.items():
        row = rows[tickets[people[email]]]
        assert (row.assignee_id == people[email], row.modified_on == before[row.id]) == (stays, stays), email
        events = [type for owner, type in told if owner == row.id]
        assert events == (["opened"] if stays else ["opened", "assigned"]), email
