"""Every type of trigger, and what templates can read of it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from flows import Assets, start
from flows.urns import write_contact_reference
from tests.flows.engine.playing import ENVIRONMENT, CountingClock, Played, ask, flow, node, play
from tests.flows.hypothesis.workspace import (
    CHANNEL,
    CHILD,
    CONTACT_JSON,
    FLOW,
    GROUP,
    OPTIN,
    SMART,
    TOPIC,
    USER,
    make_assets,
    make_uuid,
    refer,
)

TICKET = {"uuid": make_uuid(50), "status": "closed", "topic": refer(TOPIC, "General")}
MOMENT = "2025-05-04T12:30:00Z"


def begin(text: str, **trigger: Any) -> Played:
    return play(node(0, {"type": "send_msg", "text": text}, to=1), ask(1), trigger=trigger)


def event(kind: str, **parts: Any) -> dict[str, Any]:
    return {"uuid": make_uuid(7), "type": kind, "created_on": MOMENT, **parts}


@pytest.mark.parametrize(
    ("trigger", "template", "text"),
    [
        (
            {"type": "manual", "user": refer(USER), "params": {"a": [1, 2]}},
            "@trigger.user @trigger.params.a",
            "Thing [1, 2]",
        ),
        ({"type": "ticket", "ticket": TICKET}, "@trigger.ticket.topic.name", "General"),
        (
            {"type": "chat", "event": event("chat_started", channel=refer(CHANNEL)), "params": {"referrer": "x"}},
            "@trigger.type @trigger.params.referrer",
            "chat x",
        ),
    ],
)
def test_templates_see_what_began_the_session(trigger: dict[str, Any], template: str, text: str) -> None:
    played = begin(template, **trigger)
    assert played.of("msg_created")[0]["msg"]["text"] == text
    assert played.session.is_waiting


def test_a_message_tells_when_the_contact_was_seen() -> None:
    played = begin("hi", type="msg", event=event("msg_received", msg={"text": "hi"}))
    assert played.session.contact.last_seen_on == MOMENT


@pytest.mark.parametrize(("by", "had"), [("msg", [True, False]), ("manual", [False, False]), ("optin", [False, False])])
def test_only_the_first_run_had_the_message_that_began_the_session(by: str, had: list[bool]) -> None:
    events = {"msg": event("msg_received", msg={"text": "hi"}), "optin": event("optin_started", optin=refer(OPTIN))}
    given = {"event": events[by]} if by in events else {}
    enter = {"type": "enter_flow", "flow": refer(CHILD), "terminal": False}
    played = play(node(0, enter), trigger={"type": by, **given})

    assert [run.had_input for run in played.session.runs] == had


@pytest.mark.parametrize(
    ("query", "is_in"),
    [
        (f"ref = {write_contact_reference(7)}", True),
        (f"ref = {write_contact_reference(8)}", False),
        ("id = 7", True),
        ("id = 8", False),
        ("status = active", True),
        ("status = blocked", False),
        (f"uuid = {CONTACT_JSON['uuid']}", True),
        (f"uuid = {SMART}", False),
        ("language = spa", True),
        ("language = eng", False),
    ],
)
def test_queries_of_groups_know_the_attributes_of_contacts(query: str, is_in: bool) -> None:
    assets = {"groups": [{**refer(SMART, "Me"), "query": query}]}
    played = play(node(0), contact={"id": 7, "language": "spa", "groups": []}, assets=assets)
    assert (played.session.contact.groups == [SMART]) is is_in


def test_a_group_whose_query_cannot_be_read_has_no_members() -> None:
    assets = {"groups": [{**refer(SMART, "Lost"), "query": "age > ("}, {**refer(GROUP, "All"), "query": "age > 1"}]}
    played = play(node(0), contact={"groups": [refer(SMART, "Lost")]}, assets=assets)
    assert played.session.contact.groups == [GROUP]


def test_neither_contact_nor_trigger_is_changed() -> None:
    trigger = {"type": "manual", "flow": refer(FLOW), "triggered_on": MOMENT, "params": {"a": 1}}
    contact = {**CONTACT_JSON, "groups": []}
    before = copy.deepcopy((trigger, contact))
    source = {**make_assets(14), "flows": [flow(node(0, {"type": "set_contact_name", "name": "Bob"}))]}
    session, _ = start(Assets.from_json(source), contact, trigger, ENVIRONMENT, clock=CountingClock())
    assert (session.contact.name, session.status) == ("Bob", "completed")
    assert (trigger, contact) == before


def test_messages_with_halves_of_characters_can_be_stored() -> None:
    played = begin("@input.text", type="msg", event=event("msg_received", msg={"text": "a\ud800b"}))
    assert played.of("msg_created")[0]["msg"]["text"] == "a\ufffdb"
