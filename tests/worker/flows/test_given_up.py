"""A contact whose sprint ends its worker each time is given up with a reason, and nobody else with it."""

from sqlalchemy import update

from persistence.sessions.parking import LEASE, ContactLeases, acquire_leases, put_back
from persistence.tables.contacts import contact
from persistence.tables.flows import flow_run, flow_session, parked_sprint
from persistence.tables.messages import message
from testbed.flow_rows import ask, definition, node, say, store_flow
from tests.worker.flows.conftest import Stage
from tests.worker.flows.test_parked import answer, calling
from worker.flows.incoming import begin_incoming
from worker.flows.parked import ParkedSprints
from worker.flows.runner import LAST_ATTEMPTS
from worker.flows.starts import begin_timers

PHONE, OTHER = "+250788000001", "+250788000002"


def die_with(stage: Stage, *contact_ids: int) -> ContactLeases:
    """A worker leases contacts and is killed; the lease runs out."""
    with stage.database.writing() as tx:
        leases = acquire_leases(tx, contact_ids)
    stage.clock.advance(seconds=LEASE.total_seconds() + 1)
    return leases


def reasons(stage: Stage) -> list[tuple[str, str | None]]:
    return [(each.status, each.failed_reason) for each in stage.rows(message, message.c.direction == "in")]


def test_a_message_that_ended_three_workers_is_given_up_and_the_next_one_is_handled(stage: Stage) -> None:
    answer(stage.database, stage.workspace, "hello", say("Hello."))
    mine = stage.add_contact(PHONE)
    stage.receive(PHONE, "hello")
    for _ in range(3):
        assert die_with(stage, mine).contact_ids == {mine}

    stage.work()

    assert reasons(stage) == [("handled", "handling_failed")]
    assert [each.status for each in stage.rows(flow_run)] == ["failed"]
    assert stage.sent_to(mine) == []
    stage.receive(PHONE, "hello")
    stage.work()
    assert reasons(stage) == [("handled", "handling_failed"), ("handled", None)]
    assert stage.sent_to(mine) == ["Hello."]


def test_a_message_that_ended_two_workers_is_tried_once_more(stage: Stage) -> None:
    answer(stage.database, stage.workspace, "hello", say("Hello."))
    mine = stage.add_contact(PHONE)
    stage.receive(PHONE, "hello")
    for _ in range(2):
        die_with(stage, mine)

    stage.work()

    assert reasons(stage) == [("handled", None)]
    assert stage.sent_to(mine) == ["Hello."]
    assert [each.handling_until for each in stage.rows(contact)] == [None]


def test_the_last_attempt_is_made_alone(stage: Stage) -> None:
    both = [stage.add_contact(PHONE), stage.add_contact(OTHER)]
    fresh = stage.add_contact("+250788000003")
    for _ in range(2):
        assert die_with(stage, *both).contact_ids == set(both)

    with stage.database.writing() as tx:
        elsewhere = acquire_leases(tx, [*both, fresh], may_try_last=False)
        put_back(tx, elsewhere)
    last = die_with(stage, *both, fresh)

    assert elsewhere.contact_ids == {fresh}
    assert (last.contact_ids, last.is_last) == ({both[0]}, True)
    second = die_with(stage, *both, fresh)
    assert (second.contact_ids, second.is_last) == ({both[1]}, True), "who did nothing is not blamed for the death"
    third = die_with(stage, *both, fresh)
    assert (third.contact_ids, third.given_up) == ({*both, fresh}, set(both))


def test_deaths_of_days_ago_do_not_count(stage: Stage) -> None:
    mine = stage.add_contact(PHONE)
    for _ in range(3):
        die_with(stage, mine)
    stage.clock.advance(days=1)

    leases = die_with(stage, mine)

    assert (leases.contact_ids, leases.given_up) == ({mine}, frozenset())


def test_a_parked_sprint_that_ended_three_workers_is_given_up(stage: Stage) -> None:
    answer(stage.database, stage.workspace, "call", calling("http://127.0.0.1:9/"), say("Called."))
    mine = stage.add_contact(PHONE)
    stage.receive(PHONE, "call")
    incoming, parked = begin_incoming(stage.runtime), ParkedSprints(stage.runtime)
    for _ in range(3):
        while incoming():
            pass
        assert len(stage.rows(parked_sprint)) == 1, "parking counts as no attempt, and forgets none"
        with stage.database.writing() as tx:
            assert parked.lease(tx, dict.fromkeys(parked.list_due(tx), 100)).items
        LAST_ATTEMPTS.end()
        stage.clock.advance(seconds=LEASE.total_seconds() + 1)

    stage.work()

    assert reasons(stage) == [("handled", "handling_failed")]
    assert [each.status for each in stage.rows(flow_run)] == ["failed"]
    assert stage.sent_to(mine) == []
    assert stage.rows(parked_sprint) == []


def test_a_wait_whose_end_ended_three_workers_fails(stage: Stage) -> None:
    flow_uuid = store_flow(
        stage.database,
        stage.workspace,
        definition("Survey", [ask("question", {"yes": "end"}, "end", result="Answer"), node("end", [say("Thanks.")])]),
    )
    mine = stage.add_contact(PHONE)
    stage.start(flow_uuid, mine)
    stage.work()
    with stage.database.writing() as tx:
        tx.execute(update(flow_session).values(timeout_on=tx.now))
    for _ in range(3):
        die_with(stage, mine)

    begin_timers(stage.runtime)()

    assert [each.status for each in stage.rows(flow_session)] == ["failed"]
    assert [each.status for each in stage.rows(flow_run)] == ["failed"]


def test_a_start_by_parking_that_ended_three_workers_fails_for_that_contact_alone(stage: Stage) -> None:
    flow_uuid = answer(stage.database, stage.workspace, "call", calling("http://127.0.0.1:9/"), say("Called."))
    mine, other = stage.add_contact(PHONE), stage.add_contact(OTHER)
    for _ in range(3):
        die_with(stage, mine)
    stage.start(flow_uuid, mine, other)

    stage.work()

    assert {each.contact_id: each.status for each in stage.rows(flow_run)} == {mine: "failed", other: "completed"}
