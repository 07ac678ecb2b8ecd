"""What a record is bound to comes with it. Where it does not, the report says so, and the record does not do more than
it did there."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from persistence.campaigns.records import CAMPAIGN_EVENTS, CAMPAIGNS
from persistence.move.moves import find_move, list_notes
from persistence.tables.campaigns import trigger
from persistence.users import add_member
from relayboard.move.report import build_report
from relayboard.move.verifying import Verifier
from tests.relayboard.move.listing import listed
from tests.relayboard.move.other_server import OtherServer
from tests.relayboard.move.other_workspace import CAMPAIGN, CHANNEL, FLOW, campaign, fill, time, uid

GONE = {"uuid": uid(99, 1), "name": "Gone"}
Change = Callable[[OtherServer], Any]


def of(name: str, **changes: Any) -> Change:
    return lambda other: other.lists[name][0].update(changes)


def of_trigger(**changes: Any) -> Change:
    return lambda other: other.definitions[FLOW["uuid"]]["triggers"][0].update(changes)


def of_campaign(other: OtherServer) -> None:
    other.definitions[CAMPAIGN] = {"campaigns": [{**campaign(), "group": GONE}]}


def of_flow(other: OtherServer) -> None:
    called = {"type": "call_classifier", "classifier": GONE, "input": "@input", "result_name": "Intent"}
    other.definitions[FLOW["uuid"]]["flows"][0]["nodes"][0]["actions"].append({"uuid": uid(98, 1), **called})


TEXT = {"channel": GONE, "namespace": "", "locale": "eng-US", "status": "approved", "content": "Hi"}
Noted = tuple[str, Change, str]
NOTED: list[list[Noted]] = [
    [
        ("contact", of("contacts", groups=[GONE]), "one of its groups is not here"),
        (
            "ticket",
            of("tickets", topic=GONE),
            "was assigned to bench@example.com, who is not here; its topic is not here",
        ),
        ("message", of("messages", labels=[GONE]), "one of its labels is not here"),
        ("broadcast", of("broadcasts", groups=[GONE]), "one of its groups is not here"),
        ("flow_start", of("flow_starts", groups=[GONE]), "one of its groups is not here"),
        ("run", of("runs", start=GONE), "its flow start is not here"),
        (
            "template",
            of("templates", translations=[TEXT]),
            "without its translations eng-US, whose channel is not here",
        ),
    ],
    [
        ("contact", of("contacts", fields={"lost": "1"}), "there is no field lost here"),
        ("message", of("messages", flow=GONE), "its flow is not here"),
        ("broadcast", of("broadcasts", contacts=[GONE]), "one of its contacts was deleted there"),
        ("flow_start", of("flow_starts", flow=GONE), "its flow is not here"),
        ("run", of("runs", flow=GONE), "its flow is not here"),
        ("trigger", of_trigger(groups=[GONE]), 'Its group "Gone" was not here and has nobody, so it is archived.'),
        ("flow", of_flow, 'calls the classifier "Gone", which is not here'),
    ],
    [
        (
            "trigger",
            of_trigger(exclude_groups=[GONE]),
            'Its group "Gone" was not here and has nobody, so it is archived.',
        ),
        ("group", of_campaign, "is named by a flow, trigger or campaign and not listed there"),
    ],
]
"""What does not come with a record of each kind, in as few moves as it is told apart in."""


def report_of(moving: Any) -> dict[str, Any]:
    with moving.database.reading() as tx:
        move = find_move(tx, moving.workspace)
        assert move is not None
        return build_report(tx, move)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("cases", NOTED, ids=lambda cases: "-".join(kind for kind, _, _ in cases))
def test_what_does_not_come_with_a_record_stands_in_the_report(moving: Any, cases: list[Noted]) -> None:
    fill(moving.other)
    for _, change, _ in cases:
        change(moving.other)

    moving.run()
    moving.mover().bring_campaigns()

    told = report_of(moving)["lost"]
    for kind, _, sentence in cases:
        assert any(each["why"].startswith(sentence) for each in told[kind]["reasons"]), (kind, sentence, told)
        if kind == "trigger":
            with moving.database.reading() as tx:
                assert tx.execute(select(trigger.c.is_archived)).scalars().all() == [True]
    moving.run(reads_all=True)
    again = report_of(moving)["lost"]
    for kind, _, _ in cases:
        assert again[kind]["number"] == told[kind]["number"], f"a later pass repeats nothing of {kind}"


ACTIONS: list[dict[str, Any]] = [
    {"type": "set_contact_channel", "channel": GONE},
    {"type": "send_msg", "text": "Hi", "template": GONE, "template_variables": []},
]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_flow_that_names_what_is_not_here_needs_a_hand(moving: Any) -> None:
    fill(moving.other)
    node = moving.other.definitions[FLOW["uuid"]]["flows"][0]["nodes"][0]
    node["actions"] += [{"uuid": uid(98, number), **action} for number, action in enumerate(ACTIONS)]

    moving.run()

    (flow,) = report_of(moving)["flows"]
    missing = {each["dependency"]["type"] for each in flow["issues"] if each["type"] == "missing_dependency"}
    assert missing == {"channel", "template"}


def verify(moving: Any) -> dict[str, Any]:
    mover = moving.mover()
    mover.move.state["switched_on"] = "2026-01-01T00:00:00Z"
    found: dict[str, Any] = Verifier(moving.database, mover.source, mover.move, lambda _text: None).run()
    return found


def test_events_of_campaigns_keep_their_uuids_between_two_switches_and_end_with_their_campaign(moving: Any) -> None:
    fill(moving.other)
    moving.run()
    given, other, lists = campaign(), uid(7, 8), moving.other.lists
    lists["campaigns"].append({**lists["campaigns"][0], "uuid": other, "name": "Second"})
    moving.other.definitions[other] = {"campaigns": [{**given, "uuid": other, "name": "Second", "events": []}]}
    moving.mover().bring_campaigns()
    assert set(listed(moving, CAMPAIGNS)) == {CAMPAIGN, other}
    second = {**given["events"][0], "uuid": uid(7, 3), "offset": 9}
    changed = {**given["events"][0], "message": {"eng": "Time to visit us"}}
    moving.other.definitions[CAMPAIGN]["campaigns"] = [{**given, "events": [second, changed]}]

    moving.mover().bring_campaigns()
    moving.mover().bring_campaigns()

    events = listed(moving, CAMPAIGN_EVENTS)
    assert set(events) == {uid(7, 2), uid(7, 3)}
    assert events[uid(7, 2)]["message"] == {"eng": "Time to visit us"}

    moving.other.definitions[CAMPAIGN]["campaigns"] = [{**given, "events": [second]}]
    moving.mover().bring_campaigns()
    assert set(listed(moving, CAMPAIGN_EVENTS)) == {uid(7, 3)}

    lists["campaigns"][0]["archived"] = True
    lists["campaigns"].pop()
    moving.mover().bring_campaigns()
    assert listed(moving, CAMPAIGNS) == {}
    with moving.database.reading() as tx:
        move = find_move(tx, moving.workspace)
        assert move is not None
        noted = {each.reference: each.note for each in list_notes(tx, move, "campaign", 99)}
    assert noted == {other: "was deleted there: archived here"}


EVENT = {
    **{name: campaign()["events"][0][name] for name in ("uuid", "offset", "delivery_hour", "message")},
    "unit": "days",
    "campaign": {"uuid": CAMPAIGN, "name": "Reminders"},
    "relative_to": {"key": "due", "name": "Due"},
    "flow": None,
    "created_on": "2025-01-01T00:00:00Z",
}
DIFFERENT: list[tuple[str, int, dict[str, Any]]] = [
    ("channel", 0, {"name": "Back desk"}),
    ("campaign_event", 0, {"message": {"eng": "Another text"}}),
    ("campaign_event", 0, {"offset": 4}),
    ("template", 0, {"translations": [{**TEXT, "channel": CHANNEL, "content": "Bye {{1}}"}]}),
    ("field", 0, {"featured": False}),
    ("message", 7, {"quick_replies": ["Yes"]}),
    ("flow", 0, {"labels": [{"uuid": uid(4, 8), "name": "Endline"}]}),
    ("ticket", 0, {"status": "closed", "closed_on": time(1600)}),
    ("flow_start", 0, {"status": "completed"}),
    ("broadcast", 0, {"status": "sent"}),
    ("contact", 1, {"groups": [{"uuid": uid(1, 1), "name": "Reporters"}]}),
    ("group", 1, {"name": "Grown up"}),
    ("group", 1, {"query": "age >= 21"}),
]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_comparison_sees_what_people_see_of_every_kind(moving: Any) -> None:
    fill(moving.other)
    lists = moving.other.lists
    lists["campaign_events"] = [dict(EVENT)]
    with moving.database.writing() as tx:
        add_member(tx, moving.workspace.id, "bench@example.com", "agent")
    moving.run()
    moving.mover().bring_campaigns()
    equal = verify(moving)
    assert equal["is_equal"], {name: each["differences"] for name, each in equal["kinds"].items()}
    assert equal["kinds"]["campaign_event"]["samples"] == equal["kinds"]["channel"]["samples"] == 1

    for kind, number, change in DIFFERENT:
        row = lists[f"{kind}s"][number]
        before = dict(row)
        row.update(change)
        fields = [each["field"] for each in verify(moving)["kinds"][kind]["differences"]]
        assert fields[:1] == list(change)[:1] and {*fields} <= {*change}, (kind, change)
        row.clear()
        row.update(before)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_campaigns_that_the_switch_brought_otherwise_need_it_once_more(moving: Any) -> None:
    """As version 0.2.0 did, which gave their events other UUIDs."""
    fill(moving.other)
    moving.other.lists["campaign_events"] = [{**EVENT, "uuid": uid(7, 9)}]
    moving.run()
    moving.mover().bring_campaigns()

    assert not verify(moving)["is_equal"]
    (step,) = [each for each in report_of(moving)["checklist"] if each["step"] == "verify"]
    assert step["text"].endswith("there are differences, those of campaigns until --finish once more")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_starts_and_runs_that_were_deleted_alone_stand_in_the_report(moving: Any) -> None:
    fill(moving.other)
    moving.run()
    moving.mover().bring_campaigns()
    moving.other.lists["runs"].pop()
    moving.other.lists["flow_starts"].clear()

    found = verify(moving)
    assert found["is_equal"], {
        name: (each["missing_names"], each["differences"]) for name, each in found["kinds"].items()
    }

    lost = report_of(moving)["lost"]
    assert {kind: lost[kind]["number"] for kind in ("run", "flow_start")} == {"run": 1, "flow_start": 1}
    assert lost["run"]["records"][0]["name"] == f"run {uid(20, 3)}"
    assert all("is not listed there any more" in lost[kind]["reasons"][0]["why"] for kind in ("run", "flow_start"))
