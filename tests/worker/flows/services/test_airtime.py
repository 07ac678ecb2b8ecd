"""Airtime transfers of flows, with a real server (flow format, transfer_airtime)."""

import json
import logging
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from persistence.tables.flows import flow_session
from testbed.flow_rows import ask, definition, node, say, store_flow, uuid_of
from testbed.set_by_name import by_name
from tests.worker.flows.conftest import Stage
from tests.worker.flows.service_settings import with_settings
from tests.worker.receivers import Received, Receiver, Reply, receiving
from worker.runtime import Runtime

KEY = "hidden-key"
AMINA = "+254722000111"
TOLD = say("Given: @locals._new_transfer")
THANKS = {"type": "transfer_airtime", "uuid": uuid_of("thanks"), "amounts": {"KES": 50, "USD": 0.5, "RWF": 0}}
GIVEN = Reply(200, b'{"id": "T-1", "currency": "KES", "amount": "50"}')


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving(lambda _request: GIVEN) as made:
        yield made


@pytest.fixture
def runtime(runtime: Runtime, receiver: Receiver) -> Runtime:
    return with_settings(runtime, **by_name(AIRTIME_URL=receiver.url, AIRTIME_KEY=KEY))


def run(stage: Stage, *nodes: dict[str, Any]) -> int:
    """Amina is started in a flow of these nodes, one that gives her airtime if there are none; returns her id."""
    amina = stage.add_contact(AMINA, "Amina")
    flow = definition("Thanks", nodes or [node("give", [THANKS, TOLD])])
    stage.start(store_flow(stage.database, stage.workspace, flow), amina)
    stage.work()
    return amina


def keys(receiver: Receiver) -> list[str]:
    """Under which keys transfers were asked for, each the same in header and body."""
    found = [request.headers["idempotency-key"] for request in receiver.received]
    assert found == [json.loads(request.body)["uuid"] for request in receiver.received]
    return found


def test_a_transfer_is_asked_for_and_its_uuid_left_to_the_flow(stage: Stage, receiver: Receiver) -> None:
    amina = run(stage)

    (request,), (key,) = receiver.received, keys(receiver)
    parties = {"recipient": f"tel:{AMINA}", "sender": "tel:+254733555010"}
    assert json.loads(request.body) == {"uuid": key, **parties, "amounts": {"KES": "50", "USD": "0.5"}}
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert stage.sent_to(amina) == [f"Given: {key}"]


def told(stage: Stage, receiver: Receiver, bodies: Sequence[bytes]) -> list[str]:
    """What Amina is told after one start for each of these answers."""
    amina = stage.add_contact(AMINA)
    flow_uuid = store_flow(stage.database, stage.workspace, definition("Thanks", [node("give", [THANKS, TOLD])]))
    for body in bodies:
        receiver.respond = lambda _request, body=body: Reply(200, body)
        stage.start(flow_uuid, amina)
        stage.work()
    assert len(receiver.received) == len(bodies)
    return stage.sent_to(amina)


def test_amounts_are_numbers_or_plain_texts(stage: Stage, receiver: Receiver) -> None:
    said = told(stage, receiver, [b'{"currency": "KES", "amount": %s}' % each for each in (b"50", b"49.5", b'"49.50"')])

    assert said == [f"Given: {key}" for key in keys(receiver)]


def test_an_answer_of_another_shape_is_a_failure(stage: Stage, receiver: Receiver) -> None:
    bodies = [
        b"{}",
        b'{"currency": "KES"}',
        b'{"currency": "EUR", "amount": 1}',
        b'{"currency": "RWF", "amount": 1}',
        b'{"currency": ["KES"], "amount": 1}',
        b'{"currency": "KES", "amount": 0}',
        b'{"currency": "KES", "amount": -1}',
        b'{"currency": "KES", "amount": true}',
        b'{"currency": "KES", "amount": "1e999999999"}',
        b'{"currency": "KES", "amount": null}',
    ]

    assert told(stage, receiver, bodies) == ["Given: "] * len(bodies)


def test_a_refused_transfer_is_a_failure_that_shows_no_key(
    stage: Stage, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.respond = lambda _request: Reply(402, b'{"error": "no credit left"}')

    with caplog.at_level(logging.DEBUG):
        amina = run(stage)

    assert (stage.sent_to(amina), len(receiver.received)) == (["Given: "], 1)
    assert "the airtime service of flows" in caplog.text
    assert KEY not in caplog.text and AMINA not in caplog.text


def test_a_service_that_stays_busy_is_a_failure_after_four_tries(stage: Stage, receiver: Receiver) -> None:
    receiver.respond = lambda _request: Reply(503)

    assert stage.sent_to(run(stage)) == ["Given: "]
    assert keys(receiver) == [keys(receiver)[0]] * 4


def test_flows_without_an_amount_ask_nobody(stage: Stage, receiver: Receiver) -> None:
    amina = run(stage, node("give", [{**THANKS, "amounts": {"KES": 0}}, TOLD]))

    assert (stage.sent_to(amina), receiver.received) == (["Given: "], [])


class SlowWorker:
    """A receiver during whose first answer the turn runs out and another worker does the same work."""

    def __init__(self, stage: Stage, receiver: Receiver) -> None:
        self.stage = stage
        self.receiver = receiver
        self.has_worked = False

    def __call__(self, _request: Received) -> Reply:
        if len(self.receiver.received) == 1:
            self.stage.clock.advance(minutes=3)
            self.stage.work()
            self.has_worked = True
        return GIVEN


def test_a_start_that_is_done_again_asks_for_the_same_transfer(stage: Stage, receiver: Receiver) -> None:
    receiver.respond = slow = SlowWorker(stage, receiver)

    amina = run(stage)

    assert slow.has_worked
    assert len(receiver.received) == 2
    assert len(set(keys(receiver))) == 1
    assert stage.sent_to(amina) == [f"Given: {keys(receiver)[0]}"]
    assert len(stage.rows(flow_session)) == 1


def test_an_answer_that_is_handled_again_asks_for_the_same_transfer(stage: Stage, receiver: Receiver) -> None:
    amina = run(stage, ask("ready", {"yes": "give"}, None, actions=[say("Ready?")]), node("give", [THANKS, TOLD]))
    receiver.respond = slow = SlowWorker(stage, receiver)

    stage.receive(AMINA, "yes")
    stage.work()

    assert slow.has_worked
    assert len(receiver.received) == 2
    assert len(set(keys(receiver))) == 1
    assert stage.sent_to(amina) == ["Ready?", f"Given: {keys(receiver)[0]}"]


def test_two_people_and_two_starts_are_four_transfers(stage: Stage, receiver: Receiver) -> None:
    people = [stage.add_contact(AMINA), stage.add_contact("+254722000222")]
    flow_uuid = store_flow(stage.database, stage.workspace, definition("Thanks", [node("give", [THANKS, TOLD])]))

    for _ in range(2):
        stage.start(flow_uuid, *people)
        stage.work()

    assert len(set(keys(receiver))) == 4


def lottery() -> list[dict[str, Any]]:
    """A node that leads to one of ten gifts by chance."""
    roads = [f"gift {number}" for number in range(10)]
    categories = [{"uuid": uuid_of(f"win {each}"), "name": each, "exit_uuid": uuid_of(f"to {each}")} for each in roads]
    exits = [{"uuid": uuid_of(f"to {each}"), "destination_uuid": uuid_of(each)} for each in roads]
    draw = {"uuid": uuid_of("draw"), "router": {"type": "random", "categories": categories}, "exits": exits}
    return [draw, *(node(each, [{**THANKS, "uuid": uuid_of(f"give {each}")}]) for each in roads)]


def test_a_lottery_that_is_drawn_again_has_the_same_winner(stage: Stage, receiver: Receiver) -> None:
    flow_uuid = store_flow(stage.database, stage.workspace, definition("Lottery", lottery()))
    receiver.respond = slow = SlowWorker(stage, receiver)

    stage.start(flow_uuid, *(stage.add_contact(f"+25472200{number:04}") for number in range(8)))
    stage.work()

    recipients = {(json.loads(each.body)["recipient"], each.headers["idempotency-key"]) for each in receiver.received}
    assert slow.has_worked
    assert len(receiver.received) > 8 == len(recipients)


class TestWithoutService:
    @pytest.fixture
    def runtime(self, runtime: Runtime) -> Runtime:
        return with_settings(runtime, airtime_url="")

    def test_no_address_is_a_failure(self, stage: Stage) -> None:
        assert stage.sent_to(run(stage)) == ["Given: "]
