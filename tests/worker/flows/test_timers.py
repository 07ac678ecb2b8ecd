"""Waits that end by time (flow format, timers)."""

from persistence.tables.runs import flow_run, flow_session
from testbed.flow_rows import ask, definition, node, say, store_flow
from tests.conftest import Clock
from tests.worker.flows.conftest import Stage
from worker.flows.runner import FlowRunner
from worker.flows.sprints import Task
from worker.flows.timers import plan_waits

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


def plan(stage: Stage, *contact_ids: int) -> list[Task]:
    with stage.database.reading() as tx:
        context = FlowRunner(stage.runtime).open_context(tx, stage.workspace.id, contact_ids)
        return plan_waits(tx, context, contact_ids)[0]


def test_a_wait_whose_time_has_not_come_is_left_alone(stage: Stage, clock: Clock) -> None:
    amina, ben, nobody = (stage.add_contact(f"+25472200{number}") for number in (1111, 2222, 3333))
    stage.start(store_flow(stage.database, stage.workspace, PATIENT), amina)
    stage.start(store_flow(stage.database, stage.workspace, ENDLESS), ben)
    stage.work()
    everybody = amina, ben, nobody

    assert [task.is_sprint for task in plan(stage, *everybody)] == [False, False, False]
    clock.advance(minutes=6)
    assert [task.is_sprint for task in plan(stage, *everybody)] == [True, False, False]
    clock.advance(hours=2)
    kinds = [task.resume and task.resume["type"] for task in plan(stage, *everybody)]
    assert kinds == ["wait_timeout", "wait_expiration", None]
