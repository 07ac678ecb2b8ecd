"""What single revisions do with the rows that they find, on the way down and up again."""

from datetime import timedelta

import pytest
from sqlalchemy import delete, select, update

from persistence.database import Database
from persistence.migrations import downgrade, upgrade
from persistence.tables.accounts import membership, user
from persistence.tables.contacts import ticket, ticket_event
from persistence.tables.data_jobs import FAILED, PENDING, RUNNING, contact_import
from persistence.tables.messages import broadcast
from persistence.users import add_member, find_member
from persistence.workspaces.records import Workspace
from tests.channel_rows import add_contact
from tests.contract.filled_workspace import fill_workspace
from tests.ticket_rows import add_ticket

JOEL, BEA, NUR = "joel@example.org", "bea@example.org", "nur@example.org"
STAY = {JOEL: True, BEA: False, NUR: False}
"""Whether tickets stay with one who is an agent, becomes a viewer, is no member any more."""
BROADCASTS = (
    ("completed", 3, True),
    ("queued", -1, True),
    ("failed", -1, True),
    ("interrupted", 3, True),
    ("pending", -1, False),
    ("interrupted", -1, False),
)
"""Their statuses and numbers of messages, and whether they have begun."""
HOUR = timedelta(hours=1)


@pytest.mark.own_session
def test_rows_become_what_a_revision_makes_of_them(database: Database, workspace: Workspace) -> None:
    """Down to 0014 an import that is being taken back ends. Up to 0006 broadcasts that began before are created at
    their time; up to 0010 addresses get their one form, and tickets of those who cannot act on them are nobody's again.
    """
    fill_workspace(database, workspace, 1, {"broadcast": len(BROADCASTS)})
    written = database.clock()
    with database.writing() as tx:
        job = {"workspace_id": workspace.id, "filename": "people.csv", "columns": [], "created_on": tx.now}
        tx.insert(contact_import, **job, status=RUNNING, taken_back_on=tx.now, leased_until=tx.now)
        tx.insert(contact_import, **job, status=PENDING)
        people = {email: add_member(tx, workspace.id, email, "agent").id for email in STAY}
        jose = add_member(tx, workspace.id, "jos\u00e9@example.org", "agent").id
    for number, person in enumerate(people.values()):
        somebody = add_contact(database, workspace, f"+25472200011{number}")
        add_ticket(database, workspace, somebody, assignee_id=person)
    with database.reading() as tx:
        tickets = {person: each for each, person in tx.execute(select(ticket.c.id, ticket.c.assignee_id)).all()}

    downgrade(database.engine, "0014")

    rows = contact_import.c
    asked = select(rows.status, rows.leased_until, rows.finished_on.is_(None)).where(rows.filename == "people.csv")
    with database.reading() as tx:
        imports = [tuple(row) for row in tx.execute(asked.order_by(rows.id))]
    assert imports == [(FAILED, None, False), (PENDING, None, True)]

    downgrade(database.engine, "0009")
    with database.writing() as tx:
        tx.execute(update(membership).where(membership.c.user_id == people[BEA]).values(role="viewer"))
        tx.execute(delete(membership).where(membership.c.user_id == people[NUR]))
        tx.execute(update(user).where(user.c.id == jose).values(email_key="jose\u0301@example.org"))
        before = {each: time for each, time in tx.execute(select(ticket.c.id, ticket.c.modified_on))}
    downgrade(database.engine, "0005")
    with database.writing() as tx:
        ids = tx.execute(select(broadcast.c.id).order_by(broadcast.c.id)).scalars().all()
        for number, (status, total, _) in zip(ids, BROADCASTS, strict=True):
            values = {"status": status, "total": total, "created_on": written, "scheduled_on": written + HOUR}
            tx.execute(update(broadcast).where(broadcast.c.id == number).values(values))

    upgrade(database.engine)

    with database.reading() as tx:
        created = tx.execute(select(broadcast.c.created_on).order_by(broadcast.c.id)).scalars().all()
        assert find_member(tx, workspace.id, "JOSE\u0301@example.org") == jose
        found = {row.id: row for row in tx.execute(select(ticket.c.id, ticket.c.assignee_id, ticket.c.modified_on))}
        told = tx.execute(select(ticket_event.c.ticket_id, ticket_event.c.type).order_by(ticket_event.c.id)).all()
    assert created == [written + HOUR if has_begun else written for _, _, has_begun in BROADCASTS]
    for email, stays in STAY.items():
        row = found[tickets[people[email]]]
        assert (row.assignee_id == people[email], row.modified_on == before[row.id]) == (stays, stays), email
        events = [type for owner, type in told if owner == row.id]
        assert events == (["opened"] if stays else ["opened", "assigned"]), email
