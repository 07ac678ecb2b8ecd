"""Waits that end without a message of the contact: by a time, or by a callback."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from flows.clock import write_moment
from persistence.tables.messages import QUEUED, SENT, message
from testbed.flow_rows import ask, definition, node, say, store_flow
from tests.conftest import Clock
from tests.worker.flows.conftest import Stage

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
