"""Results that are saved when the contact did not answer in time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from flows.definition import load
from flows.engine import Assets, Options, resume, start
from flows.engine.visit import expiration_minutes
from flows.environment import Environment, SystemClock
from tests.flows.definition.specimens import FLOW, YES, make_flow, make_node, make_router, make_uuid


def answer_too_late(generation: int) -> Any:
    """The result of a question that timed out."""
    wait = {"type": "msg", "timeout": {"seconds": 60, "category_uuid": YES}}
    router = make_router("@input", wait=wait, result_name="Answer")
    assets = Assets(flows=[make_flow(make_node(router=router))], generation=generation)
    contact = {"uuid": make_uuid(9), "name": "Bob", "created_on": "2020-01-01T00:00:00Z", "status": "active"}
    trigger = {"type": "manual", "flow": {"uuid": FLOW, "name": "Ask"}, "triggered_on": "2020-01-01T00:00:00Z"}
    options = Options(generation=generation)
    session, _ = start(assets, contact, trigger, Environment(), clock=SystemClock(), options=options)
    late = {"type": "wait_timeout", "resumed_on": "2020-01-01T00:01:00Z"}
    session, _ = resume(session, late, assets=assets, clock=SystemClock(), options=options)
    return session.runs[0].results["answer"]


@pytest.mark.parametrize("generation", [13, 14])
def test_the_category_is_that_of_the_timeout(generation: int) -> None:
    assert answer_too_late(generation).category == "Yes"


def test_the_value_is_empty() -> None:
    assert answer_too_late(14).value == ""


def test_the_value_was_the_moment_in_generation_13() -> None:
    assert datetime.fromisoformat(answer_too_late(13).value).tzinfo is not None


@pytest.mark.parametrize(
    ("flow_type", "told", "minutes"),
    [
        ("messaging", 60, 60),
        ("messaging", 99_999, 20_160),
        ("messaging", 0, 4320),
        ("voice", 60, 15),
        ("voice", -1, 5),
        ("messaging_offline", 60, 0),
        ("messaging_offline", 0, 0),
    ],
)
def test_waits_last_as_long_as_the_type_of_flow_allows(flow_type: str, told: int, minutes: int) -> None:
    flow = load(make_flow(version="14.0.0", type=flow_type, expire_after_minutes=told))
    assert expiration_minutes(flow, 14) == minutes
    assert expiration_minutes(flow, 13) == flow.expire_after_minutes, "before 14 there were no limits"
