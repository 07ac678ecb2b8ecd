"""Concurrent changes of tickets: the first one wins, and counts stay right."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import OperationalError

from persistence.groups.groups import OPEN_TICKETS
from persistence.tables.contacts import contact, group, ticket, ticket_event, topic
from persistence.tickets.actions import NewTicket, choose_tickets, close_tickets, open_ticket, reopen_tickets
from tests.channel_rows import add_contact
from tests.ticket_rows import add_ticket

RIVALS = 4


def run_rivals(database, work):
    """Runs `work(tx, number)` in as many units of work as there are rivals, at the same time; their results."""
    barrier = Barrier(RIVALS)

    def run(number):
        barrier.wait()
        return database.write(lambda tx: work(tx, number))

    with ThreadPoolExecutor(RIVALS) as pool:
        return list(pool.map(run, range(RIVALS)))


def read_counts(database):
    """Open and closed tickets by the topic, open ones by the contact, members of the group."""
    with database.reading() as tx:
        by_topic = tx.execute(select(topic.c.open_count, topic.c.closed_count)).one()
        by_contact = tx.execute(select(contact.c.open_ticket_count)).scalar_one()
        members = tx.execute(select(group.c.member_count).where(group.c.name == OPEN_TICKETS)).scalar_one()
        return (*by_topic, by_contact, members)


def test_rivals_open_one_ticket_for_a_contact(database, workspace):
    contact_id = add_contact(database, workspace)

    opened = run_rivals(database, lambda tx, _: open_ticket(tx, workspace, NewTicket(contact_id)))

    assert len([ticket_id for ticket_id in opened if ticket_id is not None]) == 1
    assert read_counts(database) == (1, 0, 1, 1)


def test_rivals_close_a_ticket_once(database, workspace):
    uuid = add_ticket(database, workspace, add_contact(database, workspace))

    failures = run_rivals(
        database, lambda tx, _: close_tickets(tx, workspace, choose_tickets(tx, workspace.id, [uuid]), None)
    )

    assert sorted(failures) == [[], *[[uuid]] * (RIVALS - 1)]
    assert read_counts(database) == (0, 1, 0, 0)
    with database.reading() as tx:
        assert list(tx.execute(select(ticket_event.c.type)).scalars()) == ["opened", "closed"]


def test_rivals_reopen_one_of_a_contacts_tickets(database, workspace):
    contact_id = add_contact(database, workspace)
    uuids = []
    for _ in range(RIVALS):
        uuids.append(add_ticket(database, workspace, contact_id))
        with database.writing() as tx:
            close_tickets(tx, workspace, choose_tickets(tx, workspace.id, uuids[-1:]), None)

    run_rivals(
        database,
        lambda tx, number: reopen_tickets(tx, workspace, choose_tickets(tx, workspace.id, [uuids[number]]), None),
    )

    with database.reading() as tx:
        assert len(tx.execute(select(ticket.c.id).where(ticket.c.status == "open")).all()) == 1
    assert read_counts(database) == (1, RIVALS - 1, 1, 1)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_contact_is_locked_before_its_tickets(database, workspace):
    contact_id = add_contact(database, workspace)
    uuid = add_ticket(database, workspace, contact_id)
    with database.writing() as holding, database.writing() as tx:
        holding.execute(select(contact.c.id).with_for_update())
        tx.execute(text("SET LOCAL lock_timeout = 50"))
        with pytest.raises(OperationalError):
            choose_tickets(tx, workspace.id, [uuid])
        tx.connection.rollback()
        holding.execute(select(ticket.c.id).with_for_update(nowait=True))


def test_no_tickets_are_chosen_by_no_uuid(database, workspace):
    with database.writing() as tx:
        assert choose_tickets(tx, workspace.id, []) == []
