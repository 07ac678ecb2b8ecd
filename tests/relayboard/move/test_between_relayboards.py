"""A workspace moves from one Relayboard to another, over real HTTP."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import insert, select

from persistence.archives.archives import ARCHIVES
from persistence.contacts.records import CONTACTS
from persistence.flows.records import FLOWS
from persistence.lists import ListSpec
from persistence.messages.actions import add_label
from persistence.messages.records import MESSAGES
from persistence.runs.records import RUNS
from persistence.tables.campaigns import trigger
from persistence.tables.contacts import contact
from persistence.tables.flows import flow
from persistence.tables.messages import label
from persistence.tables.service import archive
from relayboard.move.verifying import Verifier
from testbed.running import RunningService
from tests.definition_files import bring_in, read_registration
from tests.factories import id_of, make_contact, make_messages, make_named
from tests.relayboard.move.listing import listed
from tests.run_rows import add_run
from tests.ticket_rows import add_ticket

OURS = {"id", "modified_on", "broadcast", "channel"}
"""Properties that another server numbers or dates itself."""


@pytest.fixture(scope="module")
def filled(relayboard: RunningService) -> RunningService:
    database, workspace = relayboard.database, relayboard.workspace
    bring_in(database, workspace, read_registration())
    uuids = [make_contact(database, workspace, f"+2507880001{number:02d}", f"Person {number}") for number in range(9)]
    for uuid in uuids[:5]:
        messages = make_messages(database, workspace, uuid, 3)
    make_named(database, workspace, label, ["Complaint"])
    with database.writing() as tx:
        label_id = tx.execute(select(label.c.id).where(label.c.name == "Complaint")).scalar_one()
        add_label(tx, workspace.id, messages, label_id)
        flow_id = tx.execute(select(flow.c.id).order_by(flow.c.id)).scalars().first()
        day = {"workspace_id": workspace.id, "archive_type": "run", "period": "daily", "start_date": tx.now.date()}
        tx.execute(insert(archive).values(**day, record_count=0, size=0, created_on=tx.now))
    path = [{"node": "68b4aef7-3eaa-4e17-9d8a-4eace693ae2d", "time": "2026-03-02T08:00:00.000000Z"}]
    visits = [{"type": "A", "left_on": None, "results": []}]
    for uuid in uuids[:4]:
        assert flow_id is not None
        add_run(database, workspace, flow_id, id_of(database, uuid), path=path, visits=visits, exits=[""])
    add_ticket(database, workspace, id_of(database, uuids[0]))
    with database.writing() as tx:  # what begins or changes there in the second in which a move begins is not compared
        an_hour_ago = tx.now - timedelta(hours=1)
        tx.execute(contact.update().values(created_on=an_hour_ago, modified_on=an_hour_ago))
    return relayboard


def without_ours(records: dict[str, Any]) -> dict[str, Any]:
    """Groups by their names: every workspace has its own group of open tickets."""
    found = {key: {name: each[name] for name in each if name not in OURS} for key, each in records.items()}
    for each in found.values():
        each["groups"] = [one["name"] for one in each.get("groups", ())]
    return found


def test_both_sides_show_the_same_and_the_comparison_says_so(filled: RunningService, from_relayboard: Any) -> None:
    move = from_relayboard.run()
    result = Verifier(from_relayboard.database, from_relayboard.source(), move, from_relayboard.said.append).run()

    assert {kind: each["differences"] for kind, each in result["kinds"].items() if each["different"]} == {}
    assert result["is_equal"]
    specs: tuple[ListSpec, ...] = (CONTACTS, MESSAGES, RUNS)
    for spec in specs:
        there = listed(filled, spec)
        assert there
        assert without_ours(listed(from_relayboard, spec)) == without_ours(there)
    assert set(listed(from_relayboard, FLOWS)) == set(listed(filled, FLOWS))
    assert listed(from_relayboard, ARCHIVES, "start_date") == listed(filled, ARCHIVES, "start_date")
    with from_relayboard.database.reading() as tx:
        assert len(tx.execute(select(trigger.c.id)).all()) > 0


def test_what_changes_here_meanwhile_is_what_the_comparison_finds(filled: RunningService, from_relayboard: Any) -> None:
    move = from_relayboard.run()
    with from_relayboard.database.writing() as tx:
        tx.execute(contact.update().where(contact.c.name == "Person 3").values(name="Somebody"))
        tx.execute(contact.update().where(contact.c.name == "Person 4").values(is_deleted=True))

    result = Verifier(from_relayboard.database, from_relayboard.source(), move, from_relayboard.said.append).run()

    found = result["kinds"]["contact"]
    assert (found["there"], found["here"], found["gone"], found["different"]) == (9, 8, 1, 1)
    assert [(each["there"], each["here"]) for each in found["differences"]] == [("Person 3", "Somebody")]
