"""The effects of flows: changes of contacts, groups, labels, tickets, broadcasts, starts of others (flow format)."""

from typing import Any

import pytest
from sqlalchemy import select, text

from flows.urns import Urn, write_contact_reference
from persistence.contacts.urns import ensure_owners
from persistence.fields import create_field
from persistence.groups.groups import create_group
from persistence.labels import create_label
from persistence.resthooks import record_resthook_event
from persistence.tables.accounts import user
from persistence.tables.contacts import contact, contact_urn, field, group, ticket, ticket_event, topic
from persistence.tables.flows import flow_run, flow_session, flow_start
from persistence.tables.messages import broadcast, label
from persistence.tickets.topics import create_topic
from testbed.flow_rows import ask, definition, node, say, store_flow, uuid_of
from testbed.tokens import make_token
from tests.worker.flows.conftest import Stage
from worker.flows.starts import begin_starts
from worker.jobs import begin_broadcasts

AMINA, BEN = "+254722000111", "+254722000222"


def action(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "uuid": uuid_of(f"{kind} {sorted(map(str, fields.items()))}"), **fields}


def run(stage: Stage, *actions: dict[str, Any], name: str = "Doing", contact_id: int | None = None) -> int:
    """Starts a contact in a flow of one node with these actions; the contact's id."""
    uuid = store_flow(stage.database, stage.workspace, definition(name, [node(name, actions)]))
    contact_id = contact_id or stage.add_contact(AMINA, "Amina")
    stage.start(uuid, contact_id)
    stage.work()
    return contact_id


def test_a_message_with_nothing_in_it_is_not_sent(stage: Stage) -> None:
    contact_id = run(stage, action("send_msg", text="@results.nothing "), action("send_msg", text="Hi @contact"))

    assert stage.sent_to(contact_id) == ["Hi Amina"]


def reference(stage: Stage, table: Any, row_id: int) -> dict[str, str]:
    with stage.database.reading() as tx:
        row = tx.execute(select(table.c.uuid, table.c.name).where(table.c.id == row_id)).one()
    return {"uuid": row.uuid, "name": row.name}


def test_attributes_and_fields_of_the_contact_change(stage: Stage) -> None:
    with stage.database.writing() as tx:
        create_field(tx, stage.workspace.id, "Age", "number")

    run(
        stage,
        action("set_contact_name", name="Amina W"),
        action("set_contact_language", language="swa"),
        action("set_contact_timezone", timezone="Africa/Nairobi"),
        action("set_contact_field", field={"key": "age", "name": "Age"}, value="37 years"),
    )

    (person,) = stage.rows(contact)
    assert (person.name, person.language, person.timezone) == ("Amina W", "swa", "Africa/Nairobi")
    assert [value["text"] for value in person.fields.values()] == ["37 years"]
    assert person.handling_until is None


def test_groups_are_joined_and_left_and_their_counts_follow(stage: Stage) -> None:
    with stage.database.writing() as tx:
        group_id = create_group(tx, stage.workspace.id, "Farmers")
    farmers = reference(stage, group, group_id)
    amina = run(stage, action("add_contact_groups", groups=[farmers]))
    (joined,) = stage.rows(group, group.c.id == group_id)

    run(stage, action("remove_contact_groups", groups=[farmers]), name="Leaving", contact_id=amina)

    (left,) = stage.rows(group, group.c.id == group_id)
    assert (joined.member_count, left.member_count) == (1, 0)


def test_an_address_is_added_unless_another_contact_has_it(stage: Stage) -> None:
    with stage.database.writing() as tx:
        ensure_owners(tx, stage.workspace.id, [Urn("tel", BEN)])

    amina = run(
        stage,
        action("add_contact_urn", scheme="telegram", path="777"),
        action("add_contact_urn", scheme="tel", path=BEN),
    )

    urns = stage.rows(contact_urn, contact_urn.c.contact_id == amina)
    assert sorted((row.scheme, row.path) for row in urns) == [("tel", AMINA), ("telegram", "777")]


def test_a_label_is_put_on_the_message_that_was_answered(stage: Stage) -> None:
    with stage.database.writing() as tx:
        label_id = create_label(tx, stage.workspace.id, "Urgent")
    labels = [reference(stage, label, label_id)]
    nodes = [
        ask("tell", {"x": "labeled"}, "labeled", actions=[say("Tell me.")]),
        node("labeled", [action("add_input_labels", labels=labels)]),
    ]
    stage.start(store_flow(stage.database, stage.workspace, definition("Labels", nodes)), stage.add_contact(AMINA))
    stage.work()

    stage.receive(AMINA, "the well is dry")
    stage.work()

    (urgent,) = stage.rows(label, label.c.id == label_id)
    assert urgent.message_count == 1


def test_a_ticket_is_opened_with_its_note_and_its_uuid_is_known_to_the_flow(stage: Stage) -> None:
    nodes = [
        node("open", [action("open_ticket", note="Call @contact.name")], to="tell"),
        node("tell", [say("Ticket @locals._new_ticket")]),
    ]
    amina = stage.add_contact(AMINA, "Amina")
    stage.start(store_flow(stage.database, stage.workspace, definition("Tickets", nodes)), amina)
    stage.work()

    (opened,) = stage.rows(ticket)
    (event,) = stage.rows(ticket_event)
    assert (opened.contact_id, opened.status, opened.flow_name) == (amina, "open", "Tickets")
    assert (event.type, event.note) == ("opened", "Call Amina")
    assert stage.sent_to(amina) == [f"Ticket {opened.uuid}"]


def test_a_ticket_of_a_flow_has_the_topic_and_the_agent_that_it_names(stage: Stage) -> None:
    make_token(stage.database, stage.workspace, "agent")
    with stage.database.writing() as tx:
        topic_id = create_topic(tx, stage.workspace.id, "Water")
    (helper,) = stage.rows(user)
    named = {"topic": reference(stage, topic, topic_id), "assignee": {"uuid": helper.uuid, "name": "Helper"}}
    nodes = [node("open", [action("open_ticket", note="Dry", **named)])]
    stage.start(store_flow(stage.database, stage.workspace, definition("Wells", nodes)), stage.add_contact(AMINA))
    stage.work()

    (opened,) = stage.rows(ticket)
    assert (opened.topic_id, opened.assignee_id) == (topic_id, helper.id)


def test_a_broadcast_of_a_flow_says_what_the_flow_evaluated_and_nothing_more(stage: Stage) -> None:
    ben = stage.add_contact(BEN, "Ben")
    (other,) = [row for row in stage.rows(contact) if row.id == ben]

    run(
        stage,
        action("set_contact_name", name="@@contact.uuid"),
        action("send_broadcast", text="From @contact.name", contacts=[{"uuid": other.uuid, "name": "Ben"}]),
    )
    step = begin_broadcasts(stage.runtime)
    while step():
        pass

    assert stage.sent_to(ben) == ["From @contact.uuid"]
    assert [row.status for row in stage.rows(broadcast)] == ["completed"]


@pytest.mark.parametrize(
    "query", ['flow = "Waiting"', 'flow != ""', 'history = "Waiting"', "ref = @(trigger.params.ref)", 'name = "Ben"']
)
def test_a_broadcast_and_a_start_with_one_query_reach_the_same_people(stage: Stage, query: str) -> None:
    ben = stage.add_contact(BEN, "Ben")
    waiting = definition("Waiting", [ask("wait", {"x": None}, None, actions=[say("Waiting")])])
    stage.start(store_flow(stage.database, stage.workspace, waiting), ben)
    stage.work()
    told = store_flow(stage.database, stage.workspace, definition("Told", [node("told", [say("Started")])]))
    actions = [
        action("send_broadcast", text="Broadcast", contact_query=query),
        action("start_session", flow={"uuid": told, "name": "Told"}, contact_query=query),
    ]
    asking = store_flow(stage.database, stage.workspace, definition("Asking", [node("asking", actions)]))
    amina = stage.add_contact(AMINA, "Amina")

    stage.start(asking, amina, params={"ref": write_contact_reference(ben)})
    steps = begin_starts(stage.runtime), begin_broadcasts(stage.runtime), begin_starts(stage.runtime)
    while steps[0]() and not stage.rows(broadcast):
        pass
    for step in steps[1:]:
        while step():
            pass

    assert stage.sent_to(ben) == ["Waiting", "Broadcast", "Started"]
    assert stage.sent_to(amina) == []


def test_a_broadcast_whose_query_means_nothing_any_more_fails_and_says_so(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    with stage.database.writing() as tx:
        create_field(tx, stage.workspace.id, "Age", "number")
    run(stage, action("send_broadcast", text="Hi", contact_query="age > 10"))
    with stage.database.writing() as tx:
        tx.execute(field.delete())

    broadcasting = begin_broadcasts(stage.runtime)
    while broadcasting():
        pass

    assert [row.status for row in stage.rows(broadcast)] == ["failed"]
    assert "can't resolve 'age'" in caplog.text


def test_a_flow_starts_another_contact_who_sees_the_run_that_did_it(stage: Stage) -> None:
    ben = stage.add_contact(BEN, "Ben")
    (other,) = [row for row in stage.rows(contact) if row.id == ben]
    told = definition("Told", [node("told", [say("@parent.contact.name sends you")])])
    flow_uuid = store_flow(stage.database, stage.workspace, told)

    run(
        stage,
        action(
            "start_session",
            flow={"uuid": flow_uuid, "name": "Told"},
            contacts=[{"uuid": other.uuid, "name": "Ben"}],
        ),
    )

    assert stage.sent_to(ben) == ["Amina sends you"]
    assert [row.start_type for row in stage.rows(flow_start)] == ["api", "flow_action"]


def test_a_subflow_is_a_run_of_its_own_and_comes_back(stage: Stage) -> None:
    child = definition("Child", [ask("age", {"x": None}, None, result="Age", actions=[say("How old are you?")])])
    child_uuid = store_flow(stage.database, stage.workspace, child)
    parent = definition(
        "Parent",
        [
            node("enter", [action("enter_flow", flow={"uuid": child_uuid, "name": "Child"})], to="after"),
            node("after", [say("You are @child.results.age")]),
        ],
    )
    amina = stage.add_contact(AMINA)
    stage.start(store_flow(stage.database, stage.workspace, parent), amina)
    stage.work()

    stage.receive(AMINA, "41")
    stage.work()

    assert stage.sent_to(amina) == ["How old are you?", "You are 41"]
    first, second = stage.rows(flow_run)
    assert (first.status, second.status, second.parent_uuid) == ("completed", "completed", first.uuid)
    assert (first.start_id is not None, second.start_id) == (True, None)


def test_a_flow_without_end_fails_and_sends_nothing(stage: Stage) -> None:
    endless = definition("Endless", [node("a", [say("again")], to="b"), node("b", [], to="a")])
    amina = stage.add_contact(AMINA)

    stage.start(store_flow(stage.database, stage.workspace, endless), amina)
    stage.work()

    assert stage.sent_to(amina) == []
    assert [row.status for row in stage.rows(flow_run)] == ["failed"]
    assert [row.status for row in stage.rows(flow_session)] == ["failed"]
    (person,) = stage.rows(contact)
    assert (person.current_flow_id, person.handling_until) == (None, None)


def test_what_cannot_be_recorded_fails_its_session_and_holds_nobody_up(stage: Stage) -> None:
    with stage.database.writing() as tx:
        record_resthook_event(tx, stage.workspace.id, "hook", {})
        tx.execute(text("CREATE UNIQUE INDEX no_second_event ON resthook_event (workspace_id)"))
    broken = action("call_resthook", resthook="hook")
    nodes = [
        ask("go", {"break": "broken"}, "fine", actions=[say("Break or not?")]),
        node("broken", [broken]),
        node("fine", [say("Fine.")]),
    ]
    amina, ben = stage.add_contact(AMINA), stage.add_contact(BEN)
    stage.start(store_flow(stage.database, stage.workspace, definition("Half", nodes)), amina, ben)
    stage.work()

    stage.receive(AMINA, "break")
    stage.receive(BEN, "no")
    stage.work()

    assert stage.sent_to(ben) == ["Break or not?", "Fine."]
    assert [row.status for row in stage.rows(flow_run)] == ["failed", "completed"]
    assert [row.handling_until for row in stage.rows(contact)] == [None, None]
