"""With any flow, message or response of a service, sessions continue or fail; nothing else happens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows import Assets, EngineError, Environment, Options, Services, Session, SystemClock, resume, start
from flows.engine import AssetsError, ResumeError, TriggerError
from tests.flows.hypothesis.effort import tried, within_seconds
from tests.flows.hypothesis.hostile_values import JSON, TEMPLATES, damaged
from tests.flows.hypothesis.workspace import CHANNEL, CONTACT_JSON, FLOW, Answers, make_assets, make_flow, refer
from tests.thinned import EVERY_CASE

CLOCK = SystemClock()
ENVIRONMENT = Environment(allowed_languages=("eng", "spa"), default_country="US", timezone="America/New_York")
ENDS = ("completed", "failed", "waiting")
MOMENT = "2024-05-04T12:30:00Z"
TRIGGER: dict[str, Any] = {
    "type": "manual",
    "flow": refer(FLOW),
    "triggered_on": MOMENT,
    "params": {"a": [1, {"b": None}]},
}
MESSAGE: dict[str, Any] = {
    "type": "msg",
    "resumed_on": MOMENT,
    "event": {
        "uuid": "01969b47-0583-76f8-ae7f-f8b243c49ff5",
        "type": "msg_received",
        "created_on": MOMENT,
        "msg": {
            "text": "yes",
            "urn": "tel:+12065551212",
            "channel": refer(CHANNEL),
            "attachments": ["image/jpeg:http://example.com/x.jpg"],
            "external_id": "1",
        },
    },
}
DIAL: dict[str, Any] = {"type": "dial", "event": {"type": "dial_ended", "dial": {"status": "busy", "duration": 3}}}
LATE: dict[str, Any] = {"type": "wait_timeout", "resumed_on": MOMENT}
GENERATIONS = pytest.mark.parametrize("generation", [13, 14])
ANSWERS = st.builds(Answers, st.binary(max_size=50) | JSON.map(lambda body: json.dumps(body).encode()),
                    st.sampled_from([0, 200, 404, 410, 503]), TEMPLATES)  # fmt: skip


def answer(text: str) -> dict[str, Any]:
    return {**MESSAGE, "event": {**MESSAGE["event"], "msg": {**MESSAGE["event"]["msg"], "text": text}}}


def play(assets: Assets, generation: int, resumes: list[Any], services: Services, trigger: Any = TRIGGER) -> Session:
    """Plays as far as it goes; sessions are stored between."""
    options = Options(generation=generation)
    with within_seconds():
        session, events = start(
            assets, CONTACT_JSON, trigger, ENVIRONMENT, clock=CLOCK, services=services, options=options
        )
    json.dumps(events)
    for given_resume in resumes:
        if not session.is_waiting:
            break
        stored = Session.from_json(json.loads(json.dumps(session.to_json())))
        assert stored == session
        with within_seconds():
            session, events = resume(stored, given_resume, assets=assets, clock=CLOCK, services=services)
        json.dumps(events)
    assert session.status in ENDS
    return session


@GENERATIONS
def test_the_flow_that_is_damaged_here_plays_to_its_end(generation: int) -> None:
    assets = Assets.from_json(make_assets(generation), generation)
    services = Answers(b'{"a": 1}', 200, "fine").as_services()
    session = play(assets, generation, [answer("yes 12"), answer("no"), answer("5")], services)
    assert session.status == "completed"
    assert len({step.node_uuid for run in session.runs for step in run.path}) > len(make_flow(generation)["nodes"])


@GENERATIONS
@tried
@given(data=st.data(), services=ANSWERS)
def test_any_definition_that_loads_can_be_played(generation: int, data: st.DataObject, services: Answers) -> None:
    flow = data.draw(damaged(make_flow(generation), most=3))
    source = make_assets(generation)
    try:
        assets = Assets.from_json({**source, "flows": [flow, source["flows"][1]]}, generation)
        play(assets, generation, [answer("yes 12"), LATE, answer("5"), answer("x")], services.as_services())
    except (AssetsError, TriggerError, ResumeError):
        return


def lessened(flow: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The flow without one property of one action, or with null or an empty text instead of it: one of these in turn
    for each property, and with RELAYBOARD_EVERY_CASE=1 all for each.
    """
    turn = count()
    for number, node in enumerate(flow["nodes"]):
        for place, action in enumerate(node.get("actions", ())):
            for name in (name for name in action if name not in ("type", "uuid")):
                rest = {key: value for key, value in action.items() if key != name}
                lesser = [rest, {**rest, name: None}, {**rest, name: ""}]
                for less in lesser if EVERY_CASE else [lesser[next(turn) % 3]]:
                    made = deepcopy(flow)
                    made["nodes"][number]["actions"][place] = less
                    yield made


@GENERATIONS
def test_what_an_action_may_lack_it_does_not_need(generation: int) -> None:
    services = Answers(b'{"a": 1}', 200, "fine").as_services()
    source = make_assets(generation)
    made = list(lessened(make_flow(generation)))
    played = 0
    for flow in made:
        assets = Assets.from_json({**source, "flows": [flow, source["flows"][1]]}, generation)
        try:
            play(assets, generation, [answer("yes 12"), answer("no"), answer("5")], services)
        except TriggerError:  # the definition is refused
            continue
        played += 1
    assert played > len(made) / 3


@GENERATIONS
@tried
@given(texts=st.lists(TEMPLATES, min_size=3, max_size=5), services=ANSWERS)
def test_any_text_can_be_answered(generation: int, texts: list[str], services: Answers) -> None:
    assets = Assets.from_json(make_assets(generation), generation)
    play(assets, generation, [answer(text) for text in texts], services.as_services())


@GENERATIONS
@tried
@given(template=TEMPLATES, text=TEMPLATES)
def test_any_template_can_stand_anywhere(generation: int, template: str, text: str) -> None:
    source = json.loads(json.dumps(make_assets(generation)).replace("@results.answer", json.dumps(template)[1:-1]))
    assets = Assets.from_json(source, generation)
    try:
        play(assets, generation, [answer(text)] * 3, Answers(text.encode(errors="replace"), 200, text).as_services())
    except TriggerError:
        return


@GENERATIONS
@tried
@given(given_resume=JSON | damaged(MESSAGE) | damaged(DIAL) | damaged(LATE))
def test_any_resume_is_taken_or_refused(generation: int, given_resume: Any) -> None:
    assets = Assets.from_json(make_assets(generation), generation)
    try:
        play(assets, generation, [given_resume, answer("yes"), given_resume], Services())
    except ResumeError:
        return


@GENERATIONS
@tried
@given(trigger=JSON | damaged(TRIGGER) | damaged({**MESSAGE, "flow": refer(FLOW)}))
def test_any_trigger_is_taken_or_refused(generation: int, trigger: Any) -> None:
    assets = Assets.from_json(make_assets(generation), generation)
    try:
        play(assets, generation, [answer("yes")], Services(), trigger)
    except EngineError:
        return
