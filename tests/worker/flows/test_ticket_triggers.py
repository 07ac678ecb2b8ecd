"""Closed tickets start flows."""

from typing import Any

from sqlalchemy import select

from persistence.groups.groups import add_members, create_group
from persistence.tables.flows import flow, flow_start
from persistence.tickets.actions import choose_tickets, close_tickets
from persistence.triggers.records import TICKET, NewTrigger, create_trigger
from testbed.flow_rows import definition, node, say, store_flow
from tests.ticket_rows import add_ticket
from tests.worker.flows.conftest import Stage

AMINA, BEN = "+254722000111", "+254722000222"


def add_trigger(stage: Stage, name: str, text: str, **values: Any) -> None:
    uuid = store_flow(stage.database, stage.workspace, definition(name, [node(f"{name} asks", [say(text)])]))
    with stage.database.writing() as tx:
        flow_id = tx.execute(select(flow.c.id).where(flow.c.uuid == uuid)).scalar_one()
        create_trigger(tx, stage.workspace.id, NewTrigger(TICKET, flow_id, **values))


def close(stage: Stage, *contact_ids: int) -> None:
    uuids = [add_ticket(stage.database, stage.workspace, contact_id) for contact_id in contact_ids]
    with stage.database.writing() as tx:
        close_tickets(tx, stage.workspace, choose_tickets(tx, stage.workspace.id, uuids), None)
    stage.work()


def test_the_contact_of_a_closed_ticket_enters_the_flow(stage: Stage) -> None:
    amina = stage.add_contact(AMINA, "Amina")
    add_trigger(stage, "Rating", "How were we, @contact.first_name? (@trigger.type, @trigger.ticket.topic.name)")

    close(stage, amina)

    assert stage.sent_to(amina) == ["How were we, Amina? (ticket, General)"]


def test_the_trigger_of_a_group_is_more_specific(stage: Stage) -> None:
    amina, ben = stage.add_contact(AMINA, "Amina"), stage.add_contact(BEN, "Ben")
    with stage.database.writing() as tx:
        mothers = create_group(tx, stage.workspace.id, "Mothers")
        add_members(tx, stage.workspace.id, mothers, [amina])
    add_trigger(stage, "For mothers", "Dear mother", group_ids=frozenset({mothers}))
    add_trigger(stage, "For all", "Dear all")

    close(stage, amina, ben)

    assert (stage.sent_to(amina), stage.sent_to(ben)) == (["Dear mother"], ["Dear all"])


def test_members_of_an_excluded_group_are_left_alone(stage: Stage) -> None:
    amina = stage.add_contact(AMINA, "Amina")
    with stage.database.writing() as tx:
        away = create_group(tx, stage.workspace.id, "Away")
        add_members(tx, stage.workspace.id, away, [amina])
    add_trigger(stage, "Rating", "How were we?", excluded_group_ids=frozenset({away}))

    close(stage, amina)

    assert stage.rows(flow_start) == []


def test_a_ticket_that_was_closed_already_starts_nothing(stage: Stage) -> None:
    amina = stage.add_contact(AMINA, "Amina")
    uuid = add_ticket(stage.database, stage.workspace, amina)
    add_trigger(stage, "Rating", "How were we?")
    for _ in range(2):
        with stage.database.writing() as tx:
            close_tickets(tx, stage.workspace, choose_tickets(tx, stage.workspace.id, [uuid]), None)

    stage.work()

    assert stage.sent_to(amina) == ["How were we?"]
