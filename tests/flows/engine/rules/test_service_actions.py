"""Actions that ask services, rule by rule (flow format, section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from flows import Options, Services
from flows.engine.services import AirtimeTransfer, Classification, LlmReply, ServiceError
from tests.flows.engine.playing import Played, node, play
from tests.flows.hypothesis.workspace import CLASSIFIER, LLM, make_uuid, refer

EARLY: dict[str, Any] = {"options": Options(generation=13), "spec_version": "13.2.0"}
GONE = make_uuid(69)


def act(*actions: dict[str, Any], **more: Any) -> Played:
    return play(node(0, *actions), **more)


def codes(played: Played) -> list[str]:
    return [error.get("code", "") for error in played.of("error")]


class Helper:
    """Answers as a classifier, a model and an airtime service; or fails."""

    def __init__(self, problem: str = "") -> None:
        self.problem = problem
        self.asked: list[Any] = []

    def _ask(self, *question: Any) -> None:
        self.asked.append(question)
        if self.problem:
            raise ServiceError(self.problem)

    def classify(self, classifier: Any, text: str) -> Classification:
        self._ask(classifier.uuid, text)
        intents = [("book", Decimal("0.75")), ("cancel", Decimal("0.5"))]
        return Classification(intents, {"town": [("Quito", Decimal(1))]})

    def respond(self, llm: Any, instructions: str, text: str) -> LlmReply:
        self._ask(llm.uuid, instructions, text)
        return LlmReply("It is fine", 4, 5, 60)

    def transfer(self, sender: Any, recipient: Any, amounts: Mapping[str, Decimal], uuid: str) -> AirtimeTransfer:
        self._ask(str(sender), recipient.identity, dict(amounts), uuid)
        return AirtimeTransfer("X1", "USD", amounts["USD"], Decimal("4.5"))

    @property
    def services(self) -> Services:
        return Services(classifier=self, llm=self, airtime=self)


INTENTS = {
    "type": "call_classifier",
    "classifier": refer(CLASSIFIER),
    "input": " I want @(1) ",
    "result_name": "Intent",
}


def test_a_text_is_classified_in_generation_13() -> None:
    helper = Helper()
    played = act(INTENTS, services=helper.services, **EARLY)
    result = played.session.runs[0].results["intent"]
    assert helper.asked == [(CLASSIFIER, "I want 1")]
    assert (result.value, result.category, result.input) == ("book", "Success", "I want 1")
    assert result.extra == {
        "intents": [{"name": "book", "confidence": 0.75}, {"name": "cancel", "confidence": 0.5}],
        "entities": {"town": [{"value": "Quito", "confidence": 1}]},
    }
    kinds = [event["type"] for event in played.events]
    assert kinds.index("service_called") < kinds.index("run_result_changed")


@pytest.mark.parametrize(
    ("fields", "problem", "category"),
    [({"input": " "}, "", "Skipped"), ({}, "no answer", "Failure"), ({"classifier": refer(GONE)}, "", "Failure")],
)
def test_a_text_that_is_not_classified_has_a_category_for_that(fields: Any, problem: str, category: str) -> None:
    played = act({**INTENTS, **fields}, services=Helper(problem).services, **EARLY)
    result = played.session.runs[0].results["intent"]
    assert (result.value, result.category, len(played.errors)) == ("0", category, 1)


def test_a_model_is_asked_and_its_answer_left_in_a_variable() -> None:
    helper = Helper()
    action = {
        "type": "call_llm",
        "llm": refer(LLM),
        "instructions": "Translate @(1)",
        "input": "@contact.first_name",
        "output_local": "said",
    }
    played = act(action, services=helper.services)
    assert helper.asked == [(LLM, "Translate 1", "Ann")]
    assert played.session.runs[0].locals == {"said": "It is fine"}
    assert played.of("llm_called") == [
        {
            "llm": refer(LLM),
            "instructions": "Translate 1",
            "input": "Ann",
            "output": "It is fine",
            "tokens": {"input": 4, "output": 5},
            "elapsed_ms": 60,
        }
    ]
    failed = act(action, services=Helper("no answer").services)
    assert (failed.session.runs[0].locals, failed.errors) == ({"said": "<ERROR>"}, ["no answer"])
    missing = act({**action, "llm": refer(GONE, "Gone")}, services=helper.services)
    assert (missing.session.runs[0].locals, codes(missing)) == ({"said": "<ERROR>"}, ["dependency:missing"])


AIRTIME = {"type": "transfer_airtime", "amounts": {"USD": 5, "RWF": 500}, "result_name": "Gift"}


def test_airtime_goes_from_the_number_of_the_channel_to_that_of_the_contact() -> None:
    helper = Helper()
    played = act(AIRTIME, services=helper.services)
    uuid = played.session.runs[0].locals["_new_transfer"]
    amounts = {"USD": Decimal(5), "RWF": Decimal(500)}
    assert helper.asked == [("tel:+12065550100", "tel:+12065551212", amounts, uuid)]
    (event,) = [event for event in played.events if event["type"] == "airtime_created"]
    assert (event["uuid"], event["external_id"], event["currency"], event["amount"]) == (uuid, "X1", "USD", 4.5)
    assert (event["sender"], event["recipient"]) == ("tel:+12065550100", "tel:+12065551212")


def test_airtime_of_generation_13_leaves_what_arrived_in_a_result() -> None:
    played = act(AIRTIME, services=Helper().services, **EARLY)
    (event,) = played.of("airtime_transferred")
    assert (event["desired_amount"], event["actual_amount"]) == (5, 4.5)
    result = played.session.runs[0].results["gift"]
    assert (result.value, result.category) == ("4.5", "Success")


@pytest.mark.parametrize("contact", [{"urns": []}, {"urns": ["mailto:ann@example.com"]}])
def test_airtime_needs_a_phone_number(contact: dict[str, Any]) -> None:
    helper = Helper()
    played = act(AIRTIME, contact=contact, services=helper.services)
    assert played.errors == ["can't transfer airtime to contact without a phone number"]
    assert (helper.asked, played.session.runs[0].locals) == ([], {"_new_transfer": ""})
    early = act(AIRTIME, contact=contact, services=helper.services, **EARLY)
    assert (early.session.runs[0].results["gift"].value, early.session.runs[0].results["gift"].category) == (
        "0",
        "Failure",
    )


@pytest.mark.parametrize("generation", [13, 14])
def test_airtime_that_fails_is_an_error_and_leaves_nothing(generation: int) -> None:
    more = EARLY if generation == 13 else {}
    played = act(AIRTIME, services=Helper("no credit").services, **more)
    assert played.errors == ["no credit"]
    if generation == 14:
        assert played.session.runs[0].locals == {"_new_transfer": ""}
