"""Waits that end by time (flow format, timers)."""

from persistence.tables.runs import flow_run, flow_session
from testbed.flow_rows import ask, definition, node, say, store_flow
from tests.conftest import Clock
from tests.worker.flows.conftest import Stage

AMINA = "+254722000111"
PATIENT = definition(
    "Patient",
    [
        ask("question", {"yes": "thanks"}, None, timeout=(300, "late"), actions=[say("Still there?")]),
        node("late", [say("Too late.")]),
        node("thanks", [say("Thank you.")]),
    ],
)
ENDLESS = definition("Endless", [ask("ever", {"yes": None}, None, actions=[say("Well?")])])


def test_a_timeout_leads_on_when_its_time_has_come_and_not_before(stage: Stage, clock: Clock) -> None:
    amina = stage.add_contact(AMINA)
    stage.start(store_flow(stage.database, stage.workspace, PATIENT), amina)
    stage.work()

    clock.advance(seconds=290)
    stage.work()
    before = stage.sent_to(amina)
    clock.advance(seconds=20)
    stage.work()

    assert before == ["Still there?"]
    assert stage.sent_to(amina) == ["Still there?", "Too late."]


def test_an_answer_in_time_forgets_the_timeout(stage: Stage, clock: Clock) -> None:
    amina = stage.add_contact(AMINA)
    stage.start(store_flow(stage.database, stage.workspace, PATIENT), amina)
    stage.work()

    stage.receive(AMINA, "yes")
    stage.work()
    clock.advance(minutes=10)
    stage.work()

    assert stage.sent_to(amina) == ["Still there?", "Thank you."]


def test_a_wait_that_expires_ends_its_run_as_expired(stage: Stage, clock: Clock) -> None:
    amina = stage.add_contact(AMINA)
    stage.start(store_flow(stage.database, stage.workspace, ENDLESS), amina)
    stage.work()

    clock.advance(minutes=61)
    stage.work()

    (run,) = stage.rows(flow_run)
    (session,) = stage.rows(flow_session)
    assert (run.status, run.exited_on is not None) == ("expired", True)
    assert (session.status, session.state) == ("completed", None)


def test_a_worker_that_was_down_at_the_moment_makes_up_for_it(stage: Stage, clock: Clock) -> None:
    amina = stage.add_contact(AMINA)
    stage.start(store_flow(stage.database, stage.workspace, PATIENT), amina)
    stage.work()

    clock.advance(days=2)
    stage.work()

    assert stage.sent_to(amina) == ["Still there?", "Too late."]
