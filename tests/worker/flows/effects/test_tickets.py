"""The tickets that sprints recorded together open."""

import pytest
from sqlalchemy import select

from persistence.sql.columns import new_uuid
from persistence.tables.contacts import ticket, ticket_event
from persistence.users import add_member
from persistence.workspaces.writes import create_workspace
from tests.flows.engine.playing import node, play
from tests.worker.flows.conftest import Stage
from worker.flows.effects import Recording, open_tickets
from worker.flows.sprints import SprintEvent


def test_each_contact_gets_its_ticket_with_the_note_of_that_ticket(stage: Stage) -> None:
    people = [stage.add_contact(f"+25472200011{number}") for number in range(3)]
    uuids = {contact_id: new_uuid() for contact_id in people}
    notes = dict(zip(people, ["Dry", None, "Broken"], strict=True))
    session = play(node(1)).session
    events = [
        SprintEvent(event, contact_id, session, {"uuid": new_uuid(), "name": "Wells"}, is_bulk=False, automatic=0)
        for contact_id in people
        for event in (
            {"type": "ticket_opened", "ticket": {"uuid": uuids[contact_id]}},
            {"type": "ticket_note_added", "ticket_uuid": uuids[contact_id], "note": notes[contact_id]},
        )
        if event.get("note", "") is not None
    ]

    with stage.database.writing() as tx:
        open_tickets(Recording(tx, stage.workspace, {}, []), events)

    with stage.database.reading() as tx:
        found = select(ticket.c.contact_id, ticket.c.uuid, ticket_event.c.note).join(ticket_event)
        rows = [tuple(row) for row in tx.execute(found.order_by(ticket.c.id))]
    assert rows == [(contact_id, uuids[contact_id], notes[contact_id]) for contact_id in people]


@pytest.mark.parametrize(("role", "is_assigned"), [("agent", True), ("viewer", False), (None, False)])
def test_a_ticket_goes_to_the_user_of_the_flow_who_can_act_on_it_here(
    stage: Stage, role: str | None, is_assigned: bool
) -> None:
    """Without a role the user has left the workspace since the flow was written."""
    contact_id = stage.add_contact("+254722000110")
    with stage.database.writing() as tx:
        elsewhere = create_workspace(tx, "Elsewhere")
        added = add_member(tx, (elsewhere if role is None else stage.workspace).id, "joel@example.org", role or "agent")
    opened = {"uuid": new_uuid(), "assignee": {"uuid": added.uuid}}
    event = {"type": "ticket_opened", "ticket": opened}
    session = play(node(1)).session
    events = [
        SprintEvent(event, contact_id, session, {"uuid": new_uuid(), "name": "Wells"}, is_bulk=False, automatic=0)
    ]

    with stage.database.writing() as tx:
        open_tickets(Recording(tx, stage.workspace, {}, []), events)
        assert tx.execute(select(ticket.c.assignee_id)).scalar_one() == (added.id if is_assigned else None)
