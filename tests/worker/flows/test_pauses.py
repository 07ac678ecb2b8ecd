"""Waits that end without a message of the contact: by a time, or by a callback."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import orjson
import pytest

from flows.environment import write_moment
from persistence.sessions.parking import Address, acquire_leases, read_address, receive_callback
from persistence.sessions.sessions import interrupt_contacts
from persistence.tables.contacts import contact
from persistence.tables.flows import flow, flow_callback, flow_revision, flow_session
from persistence.tables.messages import QUEUED, SENT, message
from testbed.flow_rows import ask, definition, node, say, store_flow, uuid_of
from tests.conftest import Clock
from tests.worker.flows.conftest import Stage
from worker.flows.runner import FlowRunner
from worker.flows.starts import plan_waits

AMINA = "+254722000111"


def pause(
    word: str, to: str, seconds: int = 3600, actions: Sequence[dict[str, Any]] = (), **said: str
) -> dict[str, Any]:
    """A node that pauses as `said`."""
    made = ask(word, {}, to, timeout=(seconds, to), actions=actions)
    made["router"]["wait"]["pause"] = said
    return made


def begin(stage: Stage, *nodes: dict[str, Any], **fields: Any) -> int:
    """Amina, who is where these nodes wait first."""
    amina = stage.add_contact(AMINA)
    stage.start(store_flow(stage.database, stage.workspace, definition("Pauses", nodes, **fields)), amina)
    stage.work()
    return amina


def test_a_pause_is_over_when_its_time_has_come_and_not_before(stage: Stage, clock: Clock) -> None:
    amina = begin(stage, pause("hour", "later", actions=[say("Soon.")], ends_by="time"), node("later", [say("Now.")]))

    clock.advance(minutes=59)
    stage.work()
    before = stage.sent_to(amina)
    clock.advance(minutes=2)
    stage.work()

    assert before == ["Soon."]
    assert stage.sent_to(amina) == ["Soon.", "Now."]


def test_a_message_during_a_pause_goes_to_the_inbox_and_ends_nothing(stage: Stage, clock: Clock) -> None:
    amina = begin(stage, pause("hour", "later", ends_by="time"), node("later", [say("Now.")]))

    received = stage.receive(AMINA, "Hello?")
    stage.work()
    [kept] = stage.rows(message, message.c.id == received)
    clock.advance(minutes=61)
    stage.work()

    assert (kept.status, kept.visibility, kept.flow_id) == ("handled", "visible", None)
    assert stage.sent_to(amina) == ["Now."]


def test_a_pause_may_be_longer_than_waits_for_answers_and_the_next_question_has_its_time(
    stage: Stage, clock: Clock
) -> None:
    far = write_moment(clock() + timedelta(days=80))
    question = ask("q", {"yes": "thanks"}, None, actions=[say("Well?")])
    amina = begin(stage, pause("far", "q", ends_by="time", until=far), question, node("thanks", [say("Thanks.")]))

    clock.advance(days=80, minutes=1)
    stage.work()
    clock.advance(minutes=50)
    stage.receive(AMINA, "yes")
    stage.work()

    assert stage.sent_to(amina) == ["Well?", "Thanks."]


@pytest.mark.parametrize("is_until", [True, False])
def test_only_a_pause_of_some_length_counts_from_when_the_message_before_it_left(
    stage: Stage, clock: Clock, is_until: bool
) -> None:
    stage.is_phone_on = False
    until = {"until": write_moment(clock() + timedelta(hours=1))} if is_until else {}
    first = pause("hour", "later", actions=[say("Soon.")], ends_by="time", **until)
    amina = begin(stage, first, node("later", [say("Now.")]))
    clock.advance(minutes=30)
    stage.is_phone_on = True
    stage.work()
    with stage.database.writing() as tx:
        tx.execute(message.update().values(sent_on=tx.now, modified_on=tx.now))

    clock.advance(minutes=31)
    stage.work()

    assert stage.sent_to(amina) == (["Soon.", "Now."] if is_until else ["Soon."])
    clock.advance(minutes=30)
    stage.work()
    assert stage.sent_to(amina) == ["Soon.", "Now."]


def test_a_wait_that_was_put_off_does_not_lengthen_the_next_one(stage: Stage, clock: Clock) -> None:
    questions = [
        ask("first", {}, "second", timeout=(600, "late"), actions=[say("Well?")]),
        ask("second", {}, None, timeout=(600, "late"), actions=[say("And?")]),
    ]
    stage.is_phone_on = False
    amina = begin(stage, *questions, node("late", [say("Late.")]))
    stage.is_phone_on = True
    for seconds in (590, 15):
        clock.advance(seconds=seconds)
        with stage.database.writing() as tx:
            left = {"status": SENT, "sent_on": tx.now, "modified_on": tx.now}
            tx.execute(message.update().where(message.c.status == QUEUED).values(left))
        stage.work()
    clock.advance(seconds=500)
    stage.receive(AMINA, "yes")
    stage.work()

    clock.advance(seconds=601)
    stage.work()

    assert stage.sent_to(amina) == ["Well?", "And?", "Late."]


PAID = node("paid", [say("Paid: @resume.json.amount")])


def pay(**more: Any) -> dict[str, Any]:
    """A node that waits for a callback, for an hour."""
    made = ask("pay", {}, "paid", timeout=(3600, "late"), **more)
    made["router"]["wait"]["pause"] = {"ends_by": "callback"}
    return made


def call(stage: Stage, number: int = 0, body: str = '{"amount": 12}') -> bool:
    """What a call of the address of a wait of the only session becomes."""
    [session], [person] = stage.rows(flow_session), stage.rows(contact)
    address = Address(stage.workspace.id, person.uuid, session.uuid, session.created_on, number)
    assert read_address(address.write("key"), ["other key", "key"]) == address._replace(
        began_on=session.created_on.replace(microsecond=0)
    )
    with stage.database.writing() as tx:
        return receive_callback(tx, address, body)


def test_a_callback_ends_its_wait_once(stage: Stage, clock: Clock) -> None:
    amina = begin(stage, pay(), PAID, node("late", [say("Late.")]))

    calls = [call(stage), call(stage)]
    stage.work()
    clock.advance(minutes=61)
    stage.work()

    assert (calls, call(stage)) == ([True, False], False)
    assert stage.sent_to(amina) == ["Paid: 12"]
    assert stage.rows(flow_callback) == []


def test_a_callback_may_come_before_its_wait(stage: Stage) -> None:
    amina = begin(stage, ask("q", {}, "pay", actions=[say("Sure?")]), pay(), PAID, node("late"))

    assert call(stage)
    stage.work()
    assert stage.sent_to(amina) == ["Sure?"]
    stage.receive(AMINA, "yes")
    stage.work()

    assert stage.sent_to(amina) == ["Sure?", "Paid: 12"]


def test_a_callback_may_come_before_its_session_is_recorded_but_not_long_after(stage: Stage, clock: Clock) -> None:
    amina = stage.add_contact(AMINA)
    [person] = stage.rows(contact)
    address = Address(stage.workspace.id, person.uuid, uuid_of("soon"), clock(), 0)

    with stage.database.writing() as tx:
        assert receive_callback(tx, address, "")
    clock.advance(hours=2)
    with stage.database.writing() as tx:
        assert not receive_callback(tx, address._replace(session_uuid=uuid_of("other")), "")
        assert [row.contact_id for row in tx.execute(flow_callback.select())] == [amina]


def test_after_its_time_an_address_is_no_more(stage: Stage, clock: Clock) -> None:
    amina = begin(stage, pay(), PAID, node("late", [say("Late.")]))

    clock.advance(minutes=61)
    stage.work()

    assert not call(stage)
    assert stage.sent_to(amina) == ["Late."]


def test_a_message_beside_a_callback_goes_to_the_inbox_and_the_flow_goes_on(stage: Stage) -> None:
    amina = begin(stage, pay(), PAID, node("late"))

    stage.receive(AMINA, "Did it work?")
    assert call(stage)
    stage.work()

    assert stage.sent_to(amina) == ["Paid: 12"]


def test_a_callback_that_was_accepted_goes_before_a_timeout_that_is_just_recorded(stage: Stage, clock: Clock) -> None:
    amina = begin(stage, pay(), PAID, node("late", [say("Late.")]))
    clock.advance(minutes=61)
    runner = FlowRunner(stage.runtime)
    with stage.database.writing() as tx:
        leases = acquire_leases(tx, [amina])
    with stage.database.reading() as tx:
        context = runner.open_context(tx, stage.workspace.id, [amina])
        tasks, _ = plan_waits(tx, context, [amina])
    assert [(task.resume or {})["type"] for task in tasks] == ["wait_timeout"]

    assert call(stage)
    runner.perform(context, leases, tasks)
    stage.work()

    assert stage.sent_to(amina) == ["Paid: 12"]


def test_who_left_the_flow_has_no_address_in_it(stage: Stage) -> None:
    amina = begin(stage, pay(), PAID, node("late"))

    with stage.database.writing() as tx:
        interrupt_contacts(tx, stage.workspace.id, [amina])

    assert not call(stage)


def test_a_callback_for_a_step_that_became_a_question_is_dropped(stage: Stage) -> None:
    begin(stage, pay(), PAID, node("late"))
    changed = ask("pay", {}, "paid", timeout=(3600, "late"))
    with stage.database.writing() as tx:
        text = orjson.dumps(definition("Pauses", [changed, PAID, node("late")])).decode()
        tx.execute(flow_revision.update().values(definition=text, number=2))
        tx.execute(flow.update().values(definition_revision=2))

    assert call(stage)
    stage.work()

    [session] = stage.rows(flow_session)
    assert (session.status, session.timeout_on, stage.rows(flow_callback)) == ("waiting", None, [])
