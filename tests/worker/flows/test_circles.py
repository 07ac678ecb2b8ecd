"""Automatic answers in a circle are stopped, and people who answer quickly are not."""

import pytest
from sqlalchemy import update

from persistence.channels.health import check_alarms
from persistence.messages.incoming import answer_again
from persistence.messages.outgoing import Draft, create_outgoing, send_event_reply
from persistence.tables.accounts import workspace
from persistence.tables.channels import channel_alarm
from persistence.tables.contacts import contact
from persistence.tables.messages import message
from persistence.triggers.records import CATCH_ALL, MISSED_CALL
from testbed.flow_rows import ask, definition, node, say, store_flow
from tests.worker.flows.conftest import Stage
from tests.worker.flows.test_triggers import AMINA, add_trigger

LIMIT, LOW = 12, 4
"""The limit of a new workspace, and a lower one for what is about all limits."""
ON_ONE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""What was sent is counted by a statement of each database, which the other tests ask; what counts, Python decides."""


def add_catch_all(stage: Stage, text: str = "We are closed.", kind: str = CATCH_ALL) -> str:
    uuid = store_flow(stage.database, stage.workspace, definition("Closed", [node("closed", [say(text)])]))
    add_trigger(stage.database, stage.workspace, kind, uuid)
    return uuid


def set_limit(stage: Stage, limit: int) -> None:
    with stage.database.writing() as tx:
        tx.execute(update(workspace).values(answer_limit=limit))


def outcomes(stage: Stage) -> list[tuple[str, str | None]]:
    sent = stage.rows(message, message.c.direction == "out")
    return [(row.status, row.failed_reason) for row in sent]


def is_marked(stage: Stage, contact_id: int) -> bool:
    return stage.rows(contact, contact.c.id == contact_id)[0].answers_stopped_on is not None


def open_alarms(stage: Stage) -> list[str]:
    return [row.kind for row in stage.rows(channel_alarm) if row.closed_on is None]


def write(stage: Stage, times: int, text: str = "I am a machine.", seconds: float = 2) -> None:
    for _ in range(times):
        stage.clock.advance(seconds=seconds)
        stage.receive(AMINA, text)
        stage.work()


def test_two_machines_are_stopped_and_people_see_it(stage: Stage) -> None:
    add_catch_all(stage)
    amina = stage.add_contact(AMINA)

    write(stage, LIMIT)
    assert (outcomes(stage), is_marked(stage, amina), open_alarms(stage)) == ([("sent", None)] * LIMIT, False, [])
    write(stage, 3)

    assert outcomes(stage)[LIMIT:] == [("failed", "circle")] * 3
    assert (is_marked(stage, amina), open_alarms(stage)) == (True, ["circle"])


@ON_ONE
def test_answers_stay_stopped_until_somebody_lets_them_go_on(stage: Stage) -> None:
    set_limit(stage, LOW)
    add_catch_all(stage)
    amina = stage.add_contact(AMINA)
    write(stage, LOW + 1)
    stage.clock.advance(minutes=90)
    write(stage, 1)
    assert outcomes(stage)[-1] == ("failed", "circle")

    with stage.database.writing() as tx:
        answer_again(tx, stage.workspace.id, [amina])
    write(stage, LOW)
    assert (outcomes(stage)[-LOW:], is_marked(stage, amina)) == ([("sent", None)] * LOW, False)
    stage.clock.advance(minutes=61)
    with stage.database.writing() as tx:
        check_alarms(tx)
    assert open_alarms(stage) == ["lost_contact"]


@ON_ONE
def test_going_on_at_once_begins_the_count_anew(stage: Stage) -> None:
    set_limit(stage, LOW)
    add_catch_all(stage)
    amina = stage.add_contact(AMINA)
    write(stage, LOW + 1)
    with stage.database.writing() as tx:
        answer_again(tx, stage.workspace.id, [amina])
    write(stage, LOW + 1)

    assert outcomes(stage)[-2:] == [("sent", None), ("failed", "circle")]


@ON_ONE
def test_a_person_who_answers_a_long_survey_quickly_gets_all_of_it(stage: Stage) -> None:
    set_limit(stage, LOW)
    nodes = []
    for number in range(10):
        nodes += [
            node(f"say {number}", [say(f"Question {number}?")], to=f"ask {number}"),
            ask(f"ask {number}", {}, f"say {number + 1}" if number < 9 else None),
        ]
    uuid = store_flow(stage.database, stage.workspace, definition("Survey", nodes))
    add_trigger(stage.database, stage.workspace, CATCH_ALL, uuid)
    stage.add_contact(AMINA)

    write(stage, 10, "1")

    assert outcomes(stage) == [("sent", None)] * 10


@ON_ONE
def test_a_flow_that_says_the_same_again_and_again_is_stopped(stage: Stage) -> None:
    set_limit(stage, LOW)
    nodes = [node("say", [say("Answer yes or no.")], to="ask"), ask("ask", {"yes": None, "no": None}, "say")]
    uuid = store_flow(stage.database, stage.workspace, definition("Asked", nodes))
    amina = stage.add_contact(AMINA)
    stage.start(uuid, amina)
    stage.work()

    write(stage, LOW + 5, "Out of office.")

    assert outcomes(stage).count(("sent", None)) == LOW + 2  # the first one of each way to come about is none again
    assert is_marked(stage, amina)


def test_what_never_ends_is_stopped_even_if_each_text_is_another(stage: Stage) -> None:
    nodes = [node("say", [say("You said: @input.text")], to="ask"), ask("ask", {}, "say")]
    uuid = store_flow(stage.database, stage.workspace, definition("Echo", nodes))
    amina = stage.add_contact(AMINA)
    stage.start(uuid, amina)
    stage.work()
    set_limit(stage, LOW)
    for number in range(LOW * 4 + 2):
        write(stage, 1, f"Number {number}", seconds=1)

    assert outcomes(stage)[-1] == ("failed", "circle")


def test_replies_of_webhooks_and_flows_of_missed_calls_count(stage: Stage) -> None:
    set_limit(stage, LOW)
    add_catch_all(stage, kind=MISSED_CALL)
    amina = stage.add_contact(AMINA)
    for _ in range(LOW - 1):
        stage.clock.advance(seconds=2)
        stage.call(amina, "call-in-missed")
        stage.work()
    for _ in range(3):
        with stage.database.writing() as tx:
            channel = {"event_contact_id": amina, "channel_id": stage.channel_id}
            send_event_reply(tx, stage.workspace.id, "Thanks.", urns=(), contact_uuids=(), **channel)

    assert [reason for _, reason in outcomes(stage)] == [None] * (LOW + 1) + ["circle"]


@ON_ONE
def test_what_people_do_does_not_count_and_begins_the_count_anew(stage: Stage) -> None:
    set_limit(stage, LOW)
    uuid = add_catch_all(stage)
    amina = stage.add_contact(AMINA)
    for _ in range(LOW + 1):
        stage.start(uuid, amina)
        stage.work()
    write(stage, LOW)
    with stage.database.writing() as tx:
        create_outgoing(tx, stage.workspace.id, [Draft(amina, "A person writes.")])
    write(stage, LOW)

    assert set(outcomes(stage)) == {("sent", None)}


@pytest.mark.parametrize(("limit", "written", "answered"), [(0, LIMIT + 2, LIMIT + 2), (3, 5, 3)])
def test_the_limit_is_a_setting_of_the_workspace(stage: Stage, limit: int, written: int, answered: int) -> None:
    add_catch_all(stage)
    stage.add_contact(AMINA)
    set_limit(stage, limit)
    write(stage, written)

    assert outcomes(stage).count(("sent", None)) == answered


def test_many_messages_of_one_sprint_are_no_circle(stage: Stage) -> None:
    nodes = [node("many", [say(f"Part {number}") for number in range(LIMIT + 3)])]
    uuid = store_flow(stage.database, stage.workspace, definition("Many", nodes))
    add_trigger(stage.database, stage.workspace, CATCH_ALL, uuid)
    stage.add_contact(AMINA)
    write(stage, 1)

    assert outcomes(stage) == [("sent", None)] * (LIMIT + 3)
