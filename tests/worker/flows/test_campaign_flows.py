"""Campaign events start flows, and what flows do schedules campaign events."""

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select

from persistence.contacts.writes import ContactChange, change_contact
from persistence.groups.groups import add_members
from persistence.sql.columns import new_uuid
from persistence.tables.contacts import contact, group
from persistence.tables.flows import flow, flow_run
from testbed.flow_rows import ask, definition, node, say, store_flow
from tests.campaign_rows import fired, make_campaign, make_event, make_group, scheduled
from tests.factories import make_field
from tests.worker.flows.conftest import Stage
from worker.jobs import begin_campaigns

AMINA = "+254722000111"
DUE_DATE = "2026-03-20T09:30:00+02:00"
DUE = datetime(2026, 3, 21, 7, 30, tzinfo=UTC)


@pytest.fixture
def amina(stage: Stage) -> int:
    """A contact, and the campaign on Mothers that she is not in yet."""
    make_field(stage.database, stage.workspace, "Due Date", "datetime")
    make_campaign(stage.database, stage.workspace, "Antenatal")
    return stage.add_contact(AMINA, "Amina")


def work(stage: Stage) -> None:
    step = begin_campaigns(stage.runtime)
    while step():
        pass
    stage.work()


def join_with_date(stage: Stage, contact_id: int) -> None:
    group_id = make_group(stage.database, stage.workspace)
    with stage.database.writing() as tx:
        add_members(tx, stage.workspace.id, group_id, [contact_id])
        change_contact(tx, stage.workspace, contact_id, ContactChange(fields={"due_date": DUE_DATE}))


def add_flow_event(stage: Stage, flow_uuid: str, **values: Any) -> None:
    with stage.database.reading() as tx:
        flow_id = tx.execute(select(flow.c.id).where(flow.c.uuid == flow_uuid)).scalar_one()
    campaign_uuid = make_campaign(stage.database, stage.workspace, f"Campaign {flow_id}")
    what = {"message": None, "base_language": None, "flow_id": flow_id}
    make_event(stage.database, stage.workspace, campaign_uuid, **what, **values)


def add_flow(stage: Stage, name: str, *actions: dict[str, Any]) -> str:
    return store_flow(stage.database, stage.workspace, definition(name, [node(f"{name} acts", list(actions))]))


def test_a_flow_event_talks_to_its_contacts_and_knows_its_campaign(stage: Stage, amina: int) -> None:
    add_flow_event(stage, add_flow(stage, "Reminder", say("@trigger.type @trigger.campaign.name @contact.name")))
    join_with_date(stage, amina)

    stage.clock.moment = DUE
    work(stage)

    [run] = stage.rows(flow_run)
    assert stage.sent_to(amina)[0].startswith("campaign Campaign ")
    assert stage.sent_to(amina)[0].endswith(" Amina")
    assert run.start_id is not None


@pytest.mark.parametrize(
    ("mode", "sent", "status"),
    [("I", ["Well?", "Reminder"], "interrupted"), ("S", ["Well?"], "waiting"), ("P", ["Well?", "Reminder"], "waiting")],
)
def test_an_event_interrupts_what_a_contact_is_doing_or_skips_it_or_comes_in_between(
    stage: Stage, amina: int, mode: str, sent: list[str], status: str
) -> None:
    add_flow_event(stage, add_flow(stage, "Reminder", say("Reminder")), start_mode=mode)
    join_with_date(stage, amina)
    stage.clock.moment = DUE
    begin_survey(stage, amina, "Survey", "Well?")

    work(stage)

    assert stage.sent_to(amina) == sent
    first, *others = (row.status for row in stage.rows(flow_run))
    assert (first, set(others) - {"completed"}) == (status, set())


def begin_survey(stage: Stage, contact_id: int, name: str, question: str) -> None:
    stage.start(add_survey(stage, name, question), contact_id)
    stage.work()


def add_survey(stage: Stage, name: str, question: str) -> str:
    """A flow that asks something and waits for the answer."""
    asking = ask(f"{name} asks", {"yes": f"{name} thanks"}, None)
    nodes = [node(f"{name} says", [say(question)], to=f"{name} asks"), asking]
    thanks = node(f"{name} thanks", [say(f"{name} says thanks")])
    return store_flow(stage.database, stage.workspace, definition(name, [*nodes, thanks], expire_after_minutes=0))


def test_a_passive_flow_ends_where_it_would_wait_beside_another(stage: Stage, amina: int) -> None:
    add_flow_event(stage, add_survey(stage, "Check", "All well?"), start_mode="P")
    join_with_date(stage, amina)
    stage.clock.moment = DUE
    begin_survey(stage, amina, "Survey", "Well?")

    work(stage)
    stage.receive(AMINA, "yes")
    stage.work()

    assert stage.sent_to(amina) == ["Well?", "All well?", "Survey says thanks"]
    assert [row.status for row in stage.rows(flow_run)] == ["completed", "interrupted"]
    assert [row.current_flow_id for row in stage.rows(contact)] == [None]


def test_a_passive_flow_waits_where_nothing_else_does(stage: Stage, amina: int) -> None:
    add_flow_event(stage, add_survey(stage, "Check", "All well?"), start_mode="P")
    join_with_date(stage, amina)
    stage.clock.moment = DUE

    work(stage)
    stage.receive(AMINA, "yes")
    stage.work()

    assert stage.sent_to(amina) == ["All well?", "Check says thanks"]
    assert [row.status for row in stage.rows(flow_run)] == ["completed"]


@pytest.mark.parametrize(("mode", "sent"), [("I", ["Well?", "Hello"]), ("S", ["Well?"]), ("P", ["Well?", "Hello"])])
def test_a_message_event_interrupts_nobody_and_may_skip_who_is_in_a_flow(
    stage: Stage, amina: int, mode: str, sent: list[str]
) -> None:
    campaign_uuid = make_campaign(stage.database, stage.workspace, "Postnatal")
    make_event(stage.database, stage.workspace, campaign_uuid, message={"eng": "Hello"}, start_mode=mode)
    join_with_date(stage, amina)
    bosco = stage.add_contact("+254722000222", "Bosco")
    join_with_date(stage, bosco)
    stage.clock.moment = DUE
    begin_survey(stage, amina, "Survey", "Well?")

    work(stage)

    assert (stage.sent_to(amina), stage.sent_to(bosco)) == (sent, ["Hello"])
    assert [row.status for row in stage.rows(flow_run)] == ["waiting"]
    assert (scheduled(stage.database), fired(stage.database)) == ([], [DUE, DUE])


def test_a_message_event_sees_its_contact_as_a_flow_does(stage: Stage, amina: int) -> None:
    campaign_uuid = make_campaign(stage.database, stage.workspace, "Postnatal")
    text = "@contact.groups.0.name @urns.tel @contact.channel @(format_date(fields.due_date)) @@"
    make_event(stage.database, stage.workspace, campaign_uuid, message={"eng": text})
    join_with_date(stage, amina)
    stage.clock.moment = DUE

    work(stage)

    assert stage.sent_to(amina) == [f"Mothers tel:{AMINA} Front desk 20-03-2026 @"]


def test_a_flow_that_sets_the_date_schedules_events(stage: Stage, amina: int) -> None:
    campaign_uuid = make_campaign(stage.database, stage.workspace, "Postnatal")
    make_event(stage.database, stage.workspace, campaign_uuid)
    join_with_date(stage, amina)
    assert scheduled(stage.database, amina) == [DUE]
    date = {"field": {"key": "due_date", "name": "Due Date"}, "value": "2026-04-20T09:30:00+02:00"}
    change = {"uuid": new_uuid(), "type": "set_contact_field", **date}

    stage.start(add_flow(stage, "Postpone", change), amina)
    stage.work()

    assert scheduled(stage.database, amina) == [datetime(2026, 4, 21, 7, 30, tzinfo=UTC)]


@pytest.mark.parametrize(
    ("kind", "was_member", "expected"),
    [("add_contact_groups", False, [DUE]), ("remove_contact_groups", True, [])],
)
def test_a_flow_that_changes_groups_schedules_and_unschedules(
    stage: Stage, amina: int, kind: str, was_member: bool, expected: list[datetime]
) -> None:
    campaign_uuid = make_campaign(stage.database, stage.workspace, "Postnatal")
    make_event(stage.database, stage.workspace, campaign_uuid)
    if was_member:
        join_with_date(stage, amina)
    else:
        with stage.database.writing() as tx:
            change_contact(tx, stage.workspace, amina, ContactChange(fields={"due_date": DUE_DATE}))
    [mothers] = stage.rows(group, group.c.name == "Mothers")
    change = {"uuid": new_uuid(), "type": kind, "groups": [{"uuid": mothers.uuid, "name": mothers.name}]}

    stage.start(add_flow(stage, "Move", change), amina)
    stage.work()

    assert scheduled(stage.database, amina) == expected
    assert [row.id for row in stage.rows(contact)] == [amina]
