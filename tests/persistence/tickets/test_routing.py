"""Who gets a ticket in turn."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
from sqlalchemy import insert, select, update

from persistence.accounts.accounts import set_away
from persistence.database import Database
from persistence.sql.columns import new_uuid
from persistence.tables.accounts import membership, sign_in, user
from persistence.tables.contacts import ticket, topic
from persistence.teams import TeamForm, create_team
from persistence.tickets.actions import NewTicket, change_topic, choose_tickets, open_ticket
from persistence.tickets.routing import THERE_FOR
from persistence.tickets.topics import create_topic
from persistence.users import add_member
from persistence.workspaces.records import Workspace
from testbed.running import wait_until
from tests.channel_rows import add_contact
from tests.waits_for_locks import backend_of, is_awaited

AMINA, BOSCO = "amina@example.org", "bosco@example.org"


@pytest.fixture
def topic_id(database: Database, workspace: Workspace) -> int:
    """A topic of a team that assigns in turn to Amina and Bosco, who are there."""
    with database.writing() as tx:
        made = create_topic(tx, workspace.id, "Billing")
        members = [add_member(tx, workspace.id, email, "agent").uuid for email in (AMINA, BOSCO)]
        uuid = tx.execute(select(topic.c.uuid).where(topic.c.id == made)).scalar_one()
        create_team(tx, workspace.id, "Night", TeamForm(topics=[uuid], members=members, assigns_in_turn=True))
        for email in (AMINA, BOSCO):
            see(tx, email, tx.now)
    return made


def see(tx, email: str, seen_on: datetime) -> None:
    owner = select(user.c.id).where(user.c.email == email).scalar_subquery()
    values = {"public": new_uuid()[-12:], "hash": "0" * 64, "method": "password", "address": "", "agent": ""}
    tx.execute(insert(sign_in).values(user_id=owner, created_on=seen_on, seen_on=seen_on, **values))


def open_one(database: Database, workspace: Workspace, topic_id: int | None, number: int) -> str | None:
    """Opens a ticket of a new contact; returns its assignee's address."""
    contact_id = add_contact(database, workspace, f"+2547220001{number:02}")
    return database.write(lambda tx: read_assignee(tx, open_ticket(tx, workspace, NewTicket(contact_id, topic_id))))


def read_assignee(tx, ticket_id: int | None) -> str | None:
    found = select(user.c.email).join(ticket, ticket.c.assignee_id == user.c.id).where(ticket.c.id == ticket_id)
    email: str | None = tx.execute(found).scalar_one_or_none()
    return email


def test_tickets_of_a_topic_go_to_its_team_in_turn_and_others_to_nobody(
    database: Database, workspace: Workspace, topic_id: int
) -> None:
    given = [open_one(database, workspace, topic_id, number) for number in range(4)]

    assert given == [AMINA, BOSCO, AMINA, BOSCO]
    assert open_one(database, workspace, None, 4) is None


def test_turns_are_taken_by_who_is_there_and_may_act(database: Database, workspace: Workspace, topic_id: int) -> None:
    with database.writing() as tx:
        owner = tx.execute(select(user.c.id).where(user.c.email == AMINA)).scalar_one()
        set_away(tx, workspace.uuid, owner, is_away=True)
    assert [open_one(database, workspace, topic_id, number) for number in range(2)] == [BOSCO, BOSCO]

    with database.writing() as tx:
        set_away(tx, workspace.uuid, owner, is_away=False)
        tx.execute(update(sign_in).values(seen_on=tx.now - THERE_FOR - timedelta(seconds=1)))
    assert open_one(database, workspace, topic_id, 2) is None

    with database.writing() as tx:
        for email in (AMINA, BOSCO):
            see(tx, email, tx.now)
        mine = (membership.c.workspace_id == workspace.id) & (membership.c.user_id == owner)
        tx.execute(update(membership).where(mine).values(role="viewer"))
    assert open_one(database, workspace, topic_id, 3) == BOSCO


def test_tickets_that_move_to_the_topic_are_dealt_out(database: Database, workspace: Workspace, topic_id: int) -> None:
    contacts = [add_contact(database, workspace, f"+25472200011{number}") for number in range(3)]
    with database.writing() as tx:
        ids = [open_ticket(tx, workspace, NewTicket(each)) for each in contacts]
        uuids = list(tx.execute(select(ticket.c.uuid).where(ticket.c.id.in_(ids))).scalars())

    with database.writing() as tx:
        assert change_topic(tx, workspace, choose_tickets(tx, workspace.id, uuids), topic_id, None) == []

    with database.reading() as tx:
        assert sorted(str(read_assignee(tx, each)) for each in ids) == [AMINA, AMINA, BOSCO]


def test_two_tickets_at_once_never_go_to_the_same_of_two(
    database: Database, workspace: Workspace, topic_id: int
) -> None:
    """The second is opened while the first has its turn and is not committed: it waits for it."""
    contact_id = add_contact(database, workspace, "+254722000110")
    with ThreadPoolExecutor(1) as threads:
        with database.writing() as tx:
            holder = None if tx.sqlite else backend_of(tx)
            first = read_assignee(tx, open_ticket(tx, workspace, NewTicket(contact_id, topic_id)))
            second = threads.submit(open_one, database, workspace, topic_id, 11)
            if holder is not None:
                wait_until(lambda: is_awaited(database, holder), "the second to wait for the first")

        assert (first, second.result(60)) == (AMINA, BOSCO)
