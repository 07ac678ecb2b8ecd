"""A workspace is copied from a server that answers as current ones do."""

from typing import Any

from sqlalchemy import func, select

from persistence.broadcasts.records import BROADCASTS
from persistence.campaigns.records import CAMPAIGNS
from persistence.channels.events import CHANNEL_EVENTS
from persistence.contacts.records import CONTACTS
from persistence.flow_starts.flow_starts import STARTS
from persistence.flows.records import FLOWS
from persistence.groups.groups import GROUPS
from persistence.labels import LABELS
from persistence.messages.records import MESSAGES
from persistence.runs.records import RUNS
from persistence.tables.changes import conversation
from persistence.tables.deliveries import delivery
from persistence.tables.flows import flow_session
from persistence.tickets.records import TICKETS
from tests.relayboard.move.listing import listed
from tests.relayboard.move.other_workspace import FLOW, contact, message, run, time, uid


def test_contacts_keep_their_uuids_times_and_what_is_known_of_them(moved: Any) -> None:
    here = listed(moved, CONTACTS)

    assert sorted(here) == [uid(10, number) for number in range(5)]
    there = contact(2)
    kept = ("uuid", "name", "status", "language", "urns", "created_on", "last_seen_on")
    assert {name: here[uid(10, 2)][name] for name in kept} == {name: there[name] for name in kept}
    assert here[uid(10, 0)]["modified_on"] == contact(0)["modified_on"], "it joined no smart group here"
    assert here[uid(10, 2)]["fields"] == {"age": "20", "district": "District 2", "due": None}
    assert [each["name"] for each in here[uid(10, 2)]["groups"]] == ["Reporters", "Adults"]


def test_smart_groups_find_their_members_and_a_query_we_lack_is_named(moved: Any) -> None:
    groups = listed(moved, GROUPS, "name")

    assert (groups["Adults"]["query"], groups["Adults"]["count"], groups["Adults"]["status"]) == (
        "fields.age >= 20",
        3,
        "ready",
    )
    assert groups["Reporters"]["count"] == 3
    assert groups["Odd"]["query"] is None


def test_messages_keep_texts_times_labels_and_flows(moved: Any) -> None:
    here = listed(moved, MESSAGES, "text")

    assert sorted(here) == [f"text {number}" for number in range(8)]
    there = message(4, 4)
    kept = ("urn", "direction", "type", "status", "visibility", "created_on", "sent_on")
    assert {name: here["text 4"][name] for name in kept} == {name: there[name] for name in kept}
    assert [each["name"] for each in here["text 4"]["labels"]] == ["Important"]
    assert here["text 3"]["flow"] == FLOW
    assert here["text 2"]["attachments"] == [{"content_type": "image/jpeg", "url": "https://files.example.org/1.jpg"}]
    assert here["text 1"]["broadcast"] == next(iter(listed(moved, BROADCASTS, "id")))
    assert here["text 0"]["channel"]["name"] == "Front desk"
    assert listed(moved, LABELS, "name")["Important"]["count"] == 2


def test_history_is_not_news(moved: Any) -> None:
    with moved.database.reading() as tx:
        assert tx.execute(select(func.count()).select_from(delivery)).scalar_one() == 0
        assert tx.execute(select(func.count()).select_from(flow_session)).scalar_one() == 0
        unread = tx.execute(select(conversation.c.is_unread)).scalars().all()
    assert (len(unread), any(unread)) == (5, False)
    statuses = {name: each["status"] for name, each in listed(moved, MESSAGES, "text").items()}
    assert statuses["text 3"] == "failed", "the other side still has to send it"
    assert next(iter(listed(moved, BROADCASTS).values()))["status"] == "interrupted"
    assert next(iter(listed(moved, STARTS).values()))["status"] == "interrupted"
    assert listed(moved, CAMPAIGNS) == {}, "both sides would send its messages"


def test_runs_keep_paths_and_results_and_an_open_one_is_interrupted(moved: Any) -> None:
    here = listed(moved, RUNS)

    there = run(0)
    kept = ("uuid", "flow", "start", "responded", "path", "created_on", "modified_on", "exited_on", "exit_type")
    assert {name: here[uid(20, 0)][name] for name in kept} == {name: there[name] for name in kept}
    assert here[uid(20, 0)]["values"] == there["values"]
    assert here[uid(20, 1)]["exit_type"] == "interrupted"
    flow = listed(moved, FLOWS)[FLOW["uuid"]]
    assert (flow["runs"]["completed"], flow["runs"]["interrupted"]) == (3, 1)
    assert (flow["created_on"], [each["name"] for each in flow["labels"]]) == (time(10), ["Baseline"])


def test_tickets_and_channel_events_come_with_their_contacts(moved: Any) -> None:
    ticket = listed(moved, TICKETS)[uid(11, 1)]
    event = next(iter(listed(moved, CHANNEL_EVENTS).values()))

    assert (ticket["status"], ticket["topic"]["name"], ticket["opened_on"]) == ("open", "Medicine", time(1500))
    assert (event["type"], event["extra"], event["created_on"]) == ("call-in", {"duration": 30}, time(1061))
