"""Triggers and resumes made by their constructors."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from flows import Assets, Resume, ResumeError, Trigger, TriggerError, load, read_export, resume, start
from tests.definition_files import make_definition, say
from tests.flows.definition.specimens import make_uuid

FLOW = load(make_definition(say("Hi")))
CONTACT = {"uuid": make_uuid(1), "urns": ["tel:+250788123123"]}
CHANNEL = {"uuid": make_uuid(2), "name": "Android"}
MOMENT = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
SUMMARY: dict[str, Any] = {"uuid": make_uuid(3), "flow": {"uuid": FLOW.uuid, "name": FLOW.name}, "status": "active"}

TRIGGERS = {
    "manual": Trigger.manual(FLOW, params={"name": "Bob"}, user={"uuid": make_uuid(4), "name": "Ann"}, origin="ui"),
    "msg": Trigger.message(FLOW, "join now", urn="tel:+250788123123", channel=CHANNEL, keyword="join"),
    "campaign": Trigger.campaign(FLOW, {"uuid": make_uuid(5), "name": "Reminders"}, point_uuid=make_uuid(6)),
    "chat": Trigger.chat(FLOW, CHANNEL, params={"name": "Bob"}),
    "call": Trigger.call(FLOW, {"uuid": make_uuid(7), "urn": "tel:+250788123123", "channel": CHANNEL}),
    "ticket": Trigger.ticket(FLOW, {"uuid": make_uuid(8), "status": "closed"}),
    "flow_action": Trigger.flow_action(FLOW, SUMMARY, {"parent_uuid": make_uuid(9), "ancestors": 1}),
}


@pytest.mark.parametrize("kind", TRIGGERS)
def test_each_trigger_starts_a_session(kind: str) -> None:
    session, events = start(Assets(flows=[FLOW]), CONTACT, TRIGGERS[kind])

    assert (session.status, session.trigger["type"]) == ("completed", kind)
    assert [event["type"] for event in events] == ["run_started", "msg_created", "run_ended"]


def test_params_and_keywords_are_seen_by_the_flow() -> None:
    flow = load(make_definition(say("@trigger.params.name"), say("@trigger.keyword: @input.text")))

    _, by_hand = start(Assets(flows=[flow]), CONTACT, Trigger.manual(flow, params={"name": "Bob"}))
    _, by_keyword = start(Assets(flows=[flow]), CONTACT, Trigger.message(flow, "join now", keyword="join"))

    texts = [event["msg"]["text"] for event in (*by_hand, *by_keyword) if event["type"] == "msg_created"]
    assert "Bob" in texts
    assert "join: join now" in texts


def test_data_that_came_with_a_message_is_seen_by_the_flow() -> None:
    flow = load(make_definition(say("@input.payload.size")))

    _, events = start(Assets(flows=[flow]), CONTACT, Trigger.message(flow, "Hi", payload={"size": "XL"}))

    assert [event["msg"]["text"] for event in events if event["type"] == "msg_created"] == ["XL"]
    assert Resume.message("Hi", payload={"size": "XL"})["event"]["msg"]["payload"] == {"size": "XL"}


def test_moments_are_written_as_the_format_has_them() -> None:
    assert Trigger.manual(FLOW, triggered_on=MOMENT)["triggered_on"] == "2026-03-02T08:00:00.000000Z"
    assert Resume.message("Yes", resumed_on=MOMENT)["resumed_on"] == "2026-03-02T08:00:00.000000Z"


@pytest.mark.parametrize(
    ("answer", "statuses"),
    [
        (Resume.message("Yes", attachments=["image/png:https://files.example.org/a.png"]), ["completed"]),
        (Resume.expiration(), ["expired"]),
    ],
)
def test_a_wait_for_messages_is_ended(answer: Resume, statuses: list[str]) -> None:
    waiting, _ = start(Assets(flows=[make_waiting_flow()]), CONTACT, Trigger.manual(make_waiting_flow()))
    assert waiting.is_waiting

    session, _ = resume(waiting, answer, assets=Assets(flows=[make_waiting_flow()]))

    assert [run.status for run in session.runs] == statuses


@pytest.mark.parametrize("answer", [Resume.timeout(), Resume.dial("busy", duration=3)])
def test_what_a_wait_does_not_accept_is_refused(answer: Resume) -> None:
    flow = make_waiting_flow()
    waiting, _ = start(Assets(flows=[flow]), CONTACT, Trigger.manual(flow))

    with pytest.raises(ResumeError, match=f"cannot be resumed by {answer['type']}"):
        resume(waiting, answer, assets=Assets(flows=[flow]))


def test_a_trigger_for_another_flow_is_refused() -> None:
    with pytest.raises(TriggerError, match="there is no flow"):
        start(Assets(), CONTACT, Trigger.manual(FLOW))


def test_flows_of_an_export_are_assets_as_they_are() -> None:
    export = read_export({"version": "13", "flows": [FLOW.raw]})

    session, _ = start(Assets(flows=export.flows), CONTACT, Trigger.manual(FLOW))

    assert session.status == "completed"


def make_waiting_flow() -> Any:
    definition = make_definition(name="Wait")
    node = definition["nodes"][0]
    category = {"uuid": make_uuid(11), "name": "All", "exit_uuid": node["exits"][0]["uuid"]}
    node |= {
        "uuid": make_uuid(10),
        "router": {
            "type": "switch",
            "operand": "@input.text",
            "wait": {"type": "msg"},
            "cases": [],
            "categories": [category],
            "default_category_uuid": make_uuid(11),
        },
    }
    return load({**definition, "uuid": make_uuid(12)})
