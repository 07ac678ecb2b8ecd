"""Options for services: classifiers in both generations, transfers that a host can ask for again."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from flows import Options, Services, start
from flows.engine.services import AirtimeTransfer
from tests.flows.engine.playing import ENVIRONMENT, CountingClock, Played, ask, node, play, switch
from tests.flows.hypothesis.workspace import CLASSIFIER, CONTACT_JSON, FLOW, Answers, make_uuid, refer

FINE = Answers(b"", 200, "fine").as_services()
INTENTS = {"type": "call_classifier", "classifier": refer(CLASSIFIER), "input": "book", "result_name": "Call"}
AIRTIME = {"type": "transfer_airtime", "amounts": {"USD": 5}}
ROUTER = switch(0, "@results.call", ("has_top_intent", ["fine", "0.5"], "Fine"))


class Teller:
    """Gives whatever it is asked for, and remembers under which UUIDs."""

    def __init__(self) -> None:
        self.uuids: list[str] = []

    def transfer(
        self, sender: Any, recipient: Any, amounts: Mapping[str, Decimal], transfer_uuid: str
    ) -> AirtimeTransfer:
        self.uuids.append(transfer_uuid)
        return AirtimeTransfer("1", "USD", amounts["USD"], amounts["USD"])


def classify(services: Services, options: Options, **fields: Any) -> Played:
    version = "13.2.0" if options.is_early else "14.4.2"
    return play(node(0, {**INTENTS, **fields}, router=ROUTER), services=services, options=options, spec_version=version)


@pytest.mark.parametrize("generation", [13, 14])
def test_a_host_with_classifiers_is_asked_in_both_generations(generation: int) -> None:
    played = classify(FINE, Options(generation=generation, classifiers=True))

    results = played.session.runs[0].results
    assert (results["call"].value, results["call"].category) == ("fine", "Success")
    assert results["answer"].category == "Fine"
    (called,) = played.of("service_called")
    assert (called["service"], called["classifier"]["uuid"]) == ("classifier", CLASSIFIER)


@pytest.mark.parametrize(
    ("services", "options"), [(FINE, Options()), (Services(), Options(classifiers=True))], ids=["option", "service"]
)
def test_without_the_option_or_a_service_generation_14_has_no_classifiers(services: Services, options: Options) -> None:
    played = classify(services, options)

    result = played.session.runs[0].results["call"]
    assert (result.value, result.category) == ("0", "Failure")
    assert [each["text"] for each in played.of("warning")] == ["NLU classifiers are no longer supported"]


def test_a_classifier_that_is_to_save_nothing_saves_nothing() -> None:
    options = Options(classifiers=True)
    action = {name: part for name, part in INTENTS.items() if name != "result_name"}

    assert play(node(0, action), services=FINE, options=options).session.runs[0].results == {}


def transfer_again(sessions: int, session_uuid: str, *actions: dict[str, Any]) -> list[str]:
    """The UUIDs of the transfers of so many sessions, each after a different number of other UUIDs."""
    teller = Teller()
    played = play(node(0, *actions), options=Options(stable_transfers=True))
    for number in range(sessions):
        start(
            played.assets,
            CONTACT_JSON,
            {"type": "manual", "flow": refer(FLOW), "triggered_on": "2025-05-04T12:30:00Z"},
            ENVIRONMENT,
            clock=CountingClock(count=100 * number),
            services=Services(airtime=teller),
            options=Options(stable_transfers=True),
            session_uuid=session_uuid,
        )
    return teller.uuids


def test_a_session_that_is_started_again_asks_for_the_same_transfers() -> None:
    uuids = transfer_again(2, "session one", AIRTIME, AIRTIME)

    assert uuids[:2] == uuids[2:]
    assert len(set(uuids)) == 2


def test_another_session_asks_for_other_transfers() -> None:
    assert transfer_again(1, "session one", AIRTIME) != transfer_again(1, "session two", AIRTIME)


def test_each_sprint_and_each_visit_of_an_action_is_a_transfer_of_its_own() -> None:
    teller = Teller()
    options = Options(stable_transfers=True)
    played = play(node(0, AIRTIME, to=1), ask(1, to=0), services=Services(airtime=teller), options=options)
    before = played.session

    played.answer("yes")
    again = Played(played.assets, before, [], played.services, options).answer("yes")

    assert len(teller.uuids) == 3
    assert teller.uuids[0] != teller.uuids[1] == teller.uuids[2]
    assert [event["uuid"] for event in again.events if event["type"] == "airtime_created"] == teller.uuids[2:]


def test_without_the_option_a_transfer_has_a_uuid_like_everything_else() -> None:
    teller = Teller()
    play(node(0, AIRTIME), services=Services(airtime=teller))

    assert teller.uuids[0] in [make_uuid(99999, count) for count in range(1, 20)]
