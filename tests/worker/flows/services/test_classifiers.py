"""Classifiers of flows, with a real server (flow format, call_classifier)."""

import json
import logging
from typing import Any

import pytest
from sqlalchemy import select

from persistence.classifiers import create_classifier
from persistence.tables.flows import flow_run
from persistence.tables.service import classifier
from testbed.flow_rows import definition, say, store_flow, uuid_of
from testbed.set_by_name import by_name
from tests.worker.flows.conftest import Stage
from tests.worker.flows.service_settings import with_settings
from tests.worker.receivers import Receiver, Reply
from worker.runtime import Runtime

KEY = "hidden-key"
AMINA = "+254722000111"
BOOK = {"name": "book", "confidence": 0.9}
CANCEL = {"name": "cancel", "confidence": 0.25}
OTHER_SHAPES: list[Any] = [
    {},
    {"intents": None},
    {"intents": ["book"]},
    {"intents": [{"name": "book"}]},
    {"intents": [{"name": "", "confidence": 1}]},
    {"intents": [{"name": 1, "confidence": 1}]},
    {"intents": [{"name": "book", "confidence": "0.9"}]},
    {"intents": [{"name": "book", "confidence": True}]},
    {"intents": [{"name": "book", "confidence": 1.01}]},
    {"intents": [{"name": "book", "confidence": -0.01}]},
    {"intents": [BOOK], "entities": [1]},
    {"intents": [BOOK], "entities": {"town": "Quito"}},
    {"intents": [BOOK], "entities": {"town": [{"value": None, "confidence": 1}]}},
    {"intents": [BOOK], "more": "x" * 10_000},
]


@pytest.fixture
def runtime(runtime: Runtime, receiver: Receiver) -> Runtime:
    return with_settings(runtime, **by_name(CLASSIFIER_URL=receiver.url, CLASSIFIER_KEY=KEY))


def add_classifier(stage: Stage) -> str:
    with stage.database.writing() as tx:
        made = create_classifier(tx, stage.workspace.id, "Bookings", "wit", ["book", "cancel"])
        uuid: str = tx.execute(select(classifier.c.uuid).where(classifier.c.id == made)).scalar_one()
    return uuid


def split(classifier_uuid: str) -> dict[str, Any]:
    """A flow that tells bookings from everything else."""
    action = {
        "type": "call_classifier",
        "uuid": uuid_of("classify"),
        "classifier": {"uuid": classifier_uuid, "name": "Bookings"},
        "input": "@trigger.params.text",
        "result_name": "Intent",
    }
    roads = ("Book", "Other")
    router = {
        "type": "switch",
        "operand": "@results.intent",
        "cases": [
            {
                "uuid": uuid_of("case"),
                "type": "has_top_intent",
                "arguments": ["book", "0.5"],
                "category_uuid": uuid_of("Book"),
            }
        ],
        "categories": [{"uuid": uuid_of(each), "name": each, "exit_uuid": uuid_of(f"to {each}")} for each in roads],
        "default_category_uuid": uuid_of("Other"),
    }
    exits = [{"uuid": uuid_of(f"to {each}"), "destination_uuid": uuid_of(f"say {each}")} for each in roads]
    first = {"uuid": uuid_of("split"), "actions": [action], "router": router, "exits": exits}
    ends = [
        {
            "uuid": uuid_of(f"say {each}"),
            "actions": [say(f"{each}: @results.intent.value")],
            "exits": [{"uuid": uuid_of(f"end {each}"), "destination_uuid": None}],
        }
        for each in roads
    ]
    return definition("Split", [first, *ends])


def run(stage: Stage, text: str = "a room", uuid: str | None = None) -> list[str]:
    """What Amina is told after a text."""
    amina = stage.add_contact(AMINA, "Amina")
    flow_uuid = store_flow(stage.database, stage.workspace, split(uuid or add_classifier(stage)))
    stage.start(flow_uuid, amina, params={"text": text})
    stage.work()
    return stage.sent_to(amina)


def result(stage: Stage) -> dict[str, Any]:
    (row,) = stage.rows(flow_run)
    saved: dict[str, Any] = row.results["intent"]
    return saved


def answer(receiver: Receiver, content: Any) -> None:
    receiver.respond = lambda _request: Reply(200, json.dumps(content).encode())


def test_the_service_says_what_a_text_means_and_the_flow_goes_that_way(stage: Stage, receiver: Receiver) -> None:
    answer(receiver, {"intents": [CANCEL, BOOK], "entities": {"town": [{"value": "Quito", "confidence": 1}]}})
    uuid = add_classifier(stage)

    assert run(stage, "a room in Quito", uuid) == ["Book: book"]
    (request,) = receiver.received
    named = {"uuid": uuid, "name": "Bookings", "type": "wit", "intents": ["book", "cancel"]}
    assert json.loads(request.body) == {"classifier": named, "text": "a room in Quito"}
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert (result(stage)["value"], result(stage)["category"]) == ("book", "Success")


def test_no_intent_at_all_is_an_answer_too(stage: Stage, receiver: Receiver) -> None:
    answer(receiver, {"intents": []})

    assert run(stage) == ["Other: "]
    assert (result(stage)["value"], result(stage)["category"]) == ("", "Success")


def test_an_answer_of_another_shape_is_a_failure(stage: Stage, receiver: Receiver) -> None:
    amina, flow_uuid = (
        stage.add_contact(AMINA),
        store_flow(stage.database, stage.workspace, split(add_classifier(stage))),
    )
    for content in OTHER_SHAPES:
        answer(receiver, content)
        stage.start(flow_uuid, amina, params={"text": "a room"})
        stage.work()

    assert stage.sent_to(amina) == ["Other: 0"] * len(OTHER_SHAPES)
    assert [row.results["intent"]["category"] for row in stage.rows(flow_run)] == ["Failure"] * len(OTHER_SHAPES)
    assert len(receiver.received) == len(OTHER_SHAPES)


def test_no_answer_is_a_failure_that_shows_no_key(
    stage: Stage, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.respond = lambda _request: Reply(500)

    with caplog.at_level(logging.DEBUG):
        told = run(stage)

    assert (told, result(stage)["category"], len(receiver.received)) == (["Other: 0"], "Failure", 1)
    assert "the classifier of flows" in caplog.text and KEY not in caplog.text


def test_nul_is_left_out_of_what_is_kept(stage: Stage, receiver: Receiver) -> None:
    answer(receiver, {"intents": [{"name": "bo\0ok", "confidence": 1}], "entities": {"to\0wn": []}})

    assert run(stage) == ["Book: book"]


class TestWithoutService:
    @pytest.fixture
    def runtime(self, runtime: Runtime) -> Runtime:
        return with_settings(runtime, classifier_url="")

    def test_no_address_is_a_failure(self, stage: Stage) -> None:
        assert run(stage) == ["Other: 0"]
        assert result(stage)["category"] == "Failure"
