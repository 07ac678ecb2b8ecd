"""Waits that end by time (flow format, timers)."""

from datetime import datetime, timedelta

import pytest

from persistence.tables.flows import flow_run, flow_session
from persistence.tables.messages import message
from testbed.flow_rows import ask, definition, node, say, store_flow
from tests.api import Api
from tests.conftest import Clock
from tests.phones import claimed_phone
from tests.worker.flows.conftest import Stage
from worker.flows.runner import FlowRunner
from worker.flows.sprints import Task
from worker.flows.starts import plan_waits

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


QUICK = definition("Quick", [ask("q", {"yes": None}, None, timeout=(10, "late"), actions=[say("Well?")]),
                             node("late", [say("Too late.")])])  # fmt: skip


class Question:
    """A question of a flow with a timeout of ten seconds, to somebody who is reached through a phone."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        stage.is_phone_on = False
        self.contact_id = stage.add_contact(AMINA)
        stage.start(store_flow(stage.database, stage.workspace, QUICK), self.contact_id)
        stage.work()

    def becomes(self, status: str, sent_on: datetime | None = None) -> None:
        with self.stage.database.writing() as tx:
            tx.execute(message.update().values(status=status, sent_on=sent_on, modified_on=tx.now))

    def waits_after(self, seconds: float) -> bool:
        self.stage.clock.advance(seconds=seconds)
        self.stage.work()
        return self.stage.sent_to(self.contact_id) == ["Well?"]


@pytest.mark.parametrize(
    ("status", "is_told"), [("sent", True), ("delivered", True), ("wired", False), ("failed", False)]
)
def test_a_timeout_counts_from_when_the_question_has_left(stage: Stage, status: str, is_told: bool) -> None:
    question = Question(stage)

    assert [question.waits_after(10), question.waits_after(9)] == [True, True]
    stage.clock.advance(seconds=1)
    question.becomes(status, stage.clock() if is_told else None)
    assert [question.waits_after(9), question.waits_after(2)] == [True, False]


@pytest.mark.parametrize("status", ["queued", "errored"])
def test_a_wait_goes_on_while_its_question_has_not_left(stage: Stage, status: str) -> None:
    question = Question(stage)
    question.becomes(status)

    assert all(question.waits_after(seconds) for seconds in (10, 100, 3600, 86400))
    question.becomes("sent", stage.clock())
    assert question.waits_after(9)
    assert not question.waits_after(61)


def test_a_phone_whose_clock_is_ahead_does_not_hold_a_wait(stage: Stage) -> None:
    question = Question(stage)
    question.becomes("sent", stage.clock() + timedelta(days=300))

    assert [question.waits_after(9), question.waits_after(2)] == [True, False]


def test_an_expiration_counts_from_there_too_and_runs_show_it(stage: Stage) -> None:
    stage.is_phone_on = False
    amina = stage.add_contact(AMINA)
    stage.start(store_flow(stage.database, stage.workspace, ENDLESS), amina)
    stage.work()
    (before,) = stage.rows(flow_run)
    (session,) = stage.rows(flow_session)
    stage.clock.advance(minutes=45)
    left_on = session.modified_on + timedelta(minutes=45)
    with stage.database.writing() as tx:
        tx.execute(message.update().values(status="sent", sent_on=left_on, modified_on=left_on))

    stage.clock.advance(minutes=20)
    stage.work()

    (run,) = stage.rows(flow_run)
    assert (run.status, run.expires_on) == ("waiting", before.expires_on + timedelta(minutes=45))
    stage.clock.advance(minutes=41)
    stage.work()
    (run,) = stage.rows(flow_run)
    assert run.status == "expired"


def test_a_real_phone_that_fetches_late_leaves_as_long_for_an_answer(stage: Stage, api: Api, clock: Clock) -> None:
    phone = claimed_phone(api)
    stage.is_phone_on = False
    contact_id = stage.add_contact("+250788000111")
    stage.start(store_flow(stage.database, stage.workspace, QUICK), contact_id)
    stage.work()

    for _ in range(2):
        clock.advance(seconds=10)
        stage.work()
    phone.sync()
    phone.sync()
    assert stage.sent_to(contact_id) == ["Well?"]
    clock.advance(seconds=9)
    stage.work()
    assert stage.sent_to(contact_id) == ["Well?"]
    clock.advance(seconds=2)
    stage.work()
    assert stage.sent_to(contact_id) == ["Well?", "Too late."]


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
