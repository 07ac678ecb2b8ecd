"""The language model of flows, with a real server (flow format, call_llm)."""

import json
import logging
from typing import Any

import pytest

from flows.asset_kinds import Llm
from testbed.flow_rows import definition, node, say, store_flow, uuid_of
from testbed.patience import PATIENCE_SECONDS
from testbed.set_by_name import by_name
from tests.worker.flows.conftest import Stage
from tests.worker.flows.service_settings import with_settings
from tests.worker.receivers import Receiver, Reply
from worker.flows.services.services import FlowLanguageModel, JsonService
from worker.runtime import Runtime

KEY = "hidden-key"
ASK = {
    "type": "call_llm",
    "uuid": uuid_of("llm"),
    "llm": {"uuid": uuid_of("a model of elsewhere"), "name": "Wise"},
    "instructions": "Translate",
    "input": "Hello @contact.name",
    "output_local": "answer",
}


@pytest.fixture
def runtime(runtime: Runtime, receiver: Receiver) -> Runtime:
    return with_settings(runtime, **by_name(LLM_URL=receiver.url, LLM_KEY=KEY, LLM_MODEL="small"))


def ask(stage: Stage) -> list[str]:
    """What Amina is told by a flow that asks the model."""
    flow = definition("Ask", [node("a", [ASK, say("It says @locals.answer")])])
    amina = stage.add_contact("+254722000111", "Amina")
    stage.start(store_flow(stage.database, stage.workspace, flow), amina)
    stage.work()
    return stage.sent_to(amina)


def test_any_model_that_a_flow_names_is_the_one_of_the_settings(stage: Stage, receiver: Receiver) -> None:
    body = b'{"choices": [{"message": {"content": " Jambo "}}], "usage": {"prompt_tokens": 3}}'
    receiver.respond = lambda _request: Reply(200, body)

    assert ask(stage) == ["It says Jambo"]
    (request,) = receiver.received
    messages = [{"role": "system", "content": "Translate"}, {"role": "user", "content": "Hello Amina"}]
    assert json.loads(request.body) == {"model": "small", "messages": messages}
    assert request.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (b'{"prompt_tokens": 3, "completion_tokens": 4}', (3, 4)),
        (b'{"prompt_tokens": 1, "completion_tokens": -1}', (1, 0)),
        (b'{"prompt_tokens": 0, "completion_tokens": 1}', (0, 1)),
        (b'{"prompt_tokens": true, "completion_tokens": "4"}', (0, 0)),
        (b"{}", (0, 0)),
        (b"null", (0, 0)),
    ],
)
def test_tokens_that_the_model_does_not_count_are_none(
    runtime: Runtime, receiver: Receiver, usage: bytes, tokens: tuple[int, int]
) -> None:
    receiver.respond = lambda _request: Reply(
        200, b'{"choices": [{"message": {"content": "Jambo"}}], "usage": %s}' % usage
    )
    service = JsonService("the model", receiver.url, KEY, runtime, lambda: None)
    reply = FlowLanguageModel(service, "small").respond(Llm(uuid_of("llm"), "Wise"), "Translate", "Hello")

    assert (reply.output, reply.input_tokens, reply.output_tokens) == ("Jambo", *tokens)


def test_an_answer_is_cut_to_ten_thousand_characters(runtime: Runtime, receiver: Receiver) -> None:
    content = " " + "é" * 10_001 + " "
    receiver.respond = lambda _request: Reply(
        200, json.dumps({"choices": [{"message": {"content": content}}]}).encode()
    )
    service = JsonService("the model", receiver.url, KEY, runtime, lambda: None)

    reply = FlowLanguageModel(service, "small").respond(Llm(uuid_of("llm"), "Wise"), "Translate", "Hello")

    assert reply.output == "é" * 10_000
    assert 1 <= reply.elapsed_ms < PATIENCE_SECONDS * 1000


@pytest.mark.parametrize(
    "reply",
    [
        Reply(500),
        Reply(200, b'{"choices": []}'),
        Reply(200, b'{"choices": [{"message": {"content": 1}}]}'),
    ],
)
def test_a_bad_answer_is_an_error_of_the_flow_which_goes_on(
    stage: Stage, receiver: Receiver, reply: Reply, caplog: Any
) -> None:
    receiver.respond = lambda _request: reply

    with caplog.at_level(logging.DEBUG):
        told = ask(stage)

    assert (told, len(receiver.received)) == (["It says <ERROR>"], 1)
    assert KEY not in caplog.text


class TestWithoutModel:
    @pytest.fixture
    def runtime(self, runtime: Runtime) -> Runtime:
        return with_settings(runtime, llm_url="")

    def test_the_flow_goes_on_with_an_error(self, stage: Stage, receiver: Receiver) -> None:
        assert ask(stage) == ["It says <ERROR>"]
        assert receiver.received == []
