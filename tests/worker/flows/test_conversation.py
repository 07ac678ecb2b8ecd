"""A conversation from start to end: messages, answers, results, runs (flow format, around the engine)."""

from persistence.relayers.relayers import release_channels
from persistence.tables.channels import channel
from persistence.tables.contacts import contact
from persistence.tables.flow_starts import flow_start
from persistence.tables.flows import flow
from persistence.tables.messages import message
from persistence.tables.runs import flow_run, flow_session
from testbed.flow_rows import ask, definition, node, say, store_flow, uuid_of
from tests.api import Api
from tests.channel_rows import add_channel
from tests.worker.flows.conftest import Stage

AMINA, BEN = "+254722000111", "+254722000222"
SURVEY = definition(
    "Survey",
    [
        node("hello", [say("Hi @contact.first_name!")], to="color"),
        ask("color", {"red": "bye", "blue": "bye"}, "hello", result="Color", actions=[say("Red or blue?")]),
        node("bye", [say("You said @results.color")]),
    ],
)


def test_a_start_sends_the_first_messages_and_waits(stage: Stage) -> None:
    uuid = store_flow(stage.database, stage.workspace, SURVEY)
    amina, ben = stage.add_contact(AMINA, "Amina Wanjiru"), stage.add_contact(BEN, "Ben")

    start_id = stage.start(uuid, amina, ben)
    stage.work()

    assert stage.sent_to(amina) == ["Hi Amina!", "Red or blue?"]
    assert stage.sent_to(ben) == ["Hi Ben!", "Red or blue?"]
    (start,) = stage.rows(flow_start)
    assert (start.id, start.status, start.total, start.started) == (start_id, "completed", 2, 2)
    assert [run.status for run in stage.rows(flow_run)] == ["waiting", "waiting"]
    assert [row.status for row in stage.rows(flow_session)] == ["waiting", "waiting"]
    (known,) = stage.rows(flow)
    assert [row.current_flow_id for row in stage.rows(contact)] == [known.id, known.id]
    assert known.active_run_count == 2


def test_an_answer_resumes_the_flow_to_its_end(stage: Stage) -> None:
    uuid = store_flow(stage.database, stage.workspace, SURVEY)
    amina = stage.add_contact(AMINA, "Amina")
    stage.start(uuid, amina)
    stage.work()

    received_id = stage.receive(AMINA, "Blue, please")
    stage.work()

    assert stage.sent_to(amina)[2:] == ["You said Blue"]
    (run,) = stage.rows(flow_run)
    assert (run.status, run.responded, run.results["color"]["category"]) == ("completed", True, "blue")
    assert [step["node"] for step in run.path] == [uuid_of("hello"), uuid_of("color"), uuid_of("bye")]
    (known,) = stage.rows(flow)
    assert (known.active_run_count, known.completed_run_count) == (0, 1)
    (received,) = stage.rows(message, message.c.id == received_id)
    assert (received.status, received.flow_id, received.folder) == ("handled", known.id, "flows")
    (person,) = stage.rows(contact)
    assert (person.current_flow_id, person.handling_until) == (None, None)


def test_a_conversation_goes_on_by_another_phone_when_its_own_is_released(stage: Stage) -> None:
    uuid = store_flow(stage.database, stage.workspace, SURVEY)
    amina = stage.add_contact(AMINA, "Amina")
    stage.start(uuid, amina)
    stage.work()
    first, stage.channel_id = stage.channel_id, add_channel(stage.database, stage.workspace, address="+254733555011")
    with stage.database.writing() as tx:
        release_channels(tx, stage.workspace.id, channel.c.id == first)
    assert [run.status for run in stage.rows(flow_run)] == ["waiting"]

    stage.receive(AMINA, "Blue, please")
    stage.work()

    last = stage.rows(message, message.c.contact_id == amina)[-1]
    assert (last.text, last.channel_id, last.status) == ("You said Blue", stage.channel_id, "sent")


def test_a_message_that_no_flow_wants_goes_to_the_inbox(stage: Stage) -> None:
    received_id = stage.receive(AMINA, "Is anybody there?")

    stage.work()

    (received,) = stage.rows(message, message.c.id == received_id)
    assert (received.status, received.flow_id, received.folder) == ("handled", None, "inbox")


def test_several_messages_of_a_contact_are_answered_one_at_a_time_and_in_order(stage: Stage) -> None:
    uuid = store_flow(stage.database, stage.workspace, SURVEY)
    amina = stage.add_contact(AMINA, "Amina")
    stage.start(uuid, amina)
    stage.work()

    for text in ("green", "yellow", "red", "thanks"):
        stage.receive(AMINA, text)
    stage.work()

    question = ["Hi Amina!", "Red or blue?"]
    assert stage.sent_to(amina) == [*question, *question, *question, "You said red"]
    assert [row.folder for row in stage.rows(message, message.c.direction == "in")] == ["flows"] * 3 + ["inbox"]


def test_generation_1_lists_the_answers_of_all_visits_oldest_first(stage: Stage, api: Api) -> None:
    loop = definition("Loop", [ask("again", {"stop": None}, "again", result="Word", actions=[say("A word?")])])
    amina = stage.add_contact(AMINA)
    stage.start(store_flow(stage.database, stage.workspace, loop), amina)
    stage.work()

    for text in ("one", "one", "two", "stop"):
        stage.receive(AMINA, text)
        stage.work()

    (run,) = api.results("/api/v1/runs.json")
    assert [(value["label"], value["text"]) for value in run["values"]] == [
        ("Word", "one"),
        ("Word", "one"),
        ("Word", "two"),
        ("Word", "stop"),
    ]
    assert [step["text"] for step in run["steps"]] == ["one", "one", "two", "stop"]
    assert run["values"] == sorted(run["values"], key=lambda value: value["time"])
    (newer,) = api.results("/api/v2/runs.json")
    assert newer["values"]["word"]["input"] == "stop"
