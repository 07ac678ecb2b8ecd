"""What the workspace on the other server holds, in the shapes of a current server; names and texts are made up."""

import gzip
import hashlib
from typing import Any

from tests.relayboard.move.other_server import OtherServer

Row = dict[str, Any]
Lists = dict[str, list[Row]]


def uid(kind: int, number: int) -> str:
    return f"{kind:08x}-0000-4000-8000-{number:012x}"


def time(minute: int) -> str:
    return f"2026-01-{1 + minute // 1440:02d}T{minute // 60 % 24:02d}:{minute % 60:02d}:00.000000Z"


REPORTERS = {"uuid": uid(1, 1), "name": "Reporters"}
ADULTS = {"uuid": uid(1, 2), "name": "Adults"}
IMPORTANT = {"uuid": uid(2, 1), "name": "Important"}
CHANNEL = {"uuid": uid(3, 1), "name": "Front desk"}
FLOW = {"uuid": uid(4, 1), "name": "Registration"}
NODE, ACTION, EXIT = uid(5, 1), uid(5, 2), uid(5, 3)
START = uid(6, 1)
CAMPAIGN = uid(7, 1)


def contact(number: int, **changes: Any) -> Row:
    """Contact 0, 1, 2 ...; those with an even number are reporters, and 10 years old for each number."""
    return {
        "uuid": uid(10, number),
        "name": f"Person {number}",
        "status": "active",
        "language": "eng",
        "urns": [f"tel:+25078800{number:04d}"],
        "groups": [*([REPORTERS] if number % 2 == 0 else []), *([ADULTS] if 10 * number >= 20 else [])],
        "fields": {"age": str(10 * number), "district": f"District {number}", "unknown": None},
        "flow": None,
        "created_on": time(number),
        "modified_on": time(2000 + number),
        "last_seen_on": time(1000 + number),
        "blocked": False,
        "stopped": False,
        **changes,
    }


def message(number: int, person: int = 0, **changes: Any) -> Row:
    is_incoming = number % 2 == 0
    return {
        "id": 900_000 + number,
        "broadcast": None,
        "contact": {"uuid": uid(10, person), "name": f"Person {person}"},
        "urn": f"tel:+25078800{person:04d}",
        "channel": CHANNEL,
        "direction": "in" if is_incoming else "out",
        "type": "text",
        "status": "handled" if is_incoming else "delivered",
        "archived": False,
        "visibility": "visible",
        "text": f"text {number}",
        "labels": [IMPORTANT] if number % 4 == 0 else [],
        "flow": FLOW if number % 3 == 0 else None,
        "attachments": ["image/jpeg:https://files.example.org/1.jpg"] if number == 2 else [],
        "created_on": time(1000 + number),
        "sent_on": None if is_incoming else time(1001 + number),
        "modified_on": time(1001 + number),
        "media": None,
        **changes,
    }


def run(number: int, person: int = 0, **changes: Any) -> Row:
    result = {"value": "blue", "category": "Blue", "node": NODE, "time": time(1100), "input": "it is blue"}
    return {
        "id": 300_000 + number,
        "uuid": uid(20, number),
        "flow": FLOW,
        "contact": {"uuid": uid(10, person), "name": f"Person {person}", "urn": "tel:+250788000000"},
        "start": {"uuid": START} if number == 0 else None,
        "responded": True,
        "path": [{"node": NODE, "time": time(1100)}],
        "values": {"color": {**result, "name": "Color"}},
        "created_on": time(1100 + number),
        "modified_on": time(1200 + number),
        "exited_on": time(1200 + number),
        "exit_type": "completed",
        **changes,
    }


def definition() -> Row:
    action = {"uuid": ACTION, "type": "send_msg", "text": "Hello @fields.age"}
    node = {"uuid": NODE, "actions": [action], "exits": [{"uuid": EXIT, "destination_uuid": None}]}
    return {
        **FLOW,
        "spec_version": "13.1.0",
        "language": "eng",
        "type": "messaging",
        "revision": 1,
        "expire_after_minutes": 60,
        "localization": {},
        "nodes": [node],
        "_ui": {"nodes": {}},
    }


def campaign() -> Row:
    event = {
        "uuid": uid(7, 2),
        "offset": 3,
        "unit": "D",
        "event_type": "M",
        "delivery_hour": 9,
        "relative_to": {"key": "due", "label": "Due"},
        "message": {"eng": "Time to visit"},
        "base_language": "eng",
        "start_mode": "I",
    }
    return {"uuid": CAMPAIGN, "name": "Reminders", "group": REPORTERS, "events": [event]}


def fill(server: OtherServer, people: int = 5, messages: int = 8, runs: int = 4) -> None:
    """A little of everything."""
    _fill_settings(server.lists)
    _fill_flows(server, runs)
    _fill_contacts(server.lists, people)
    _fill_messages(server.lists, people, messages)
    _fill_runs(server.lists, people, runs)
    _fill_archives(server)


def _fill_settings(lists: Lists) -> None:
    lists["users"] = [{"email": "bench@example.com", "first_name": "B", "role": "administrator", "created_on": time(0)}]
    lists["channels"] = [
        {**CHANNEL, "address": "+250788000001", "country": "RW", "device": None, "created_on": time(0)}
    ]
    lists["fields"] = [
        {"key": "age", "name": "Age", "type": "number", "featured": True, "priority": 3, "agent_access": "view"},
        {"key": "district", "label": "District", "value_type": "text"},
        {"key": "due", "name": "Due", "type": "datetime"},
    ]
    lists["globals"] = [{"key": "org_name", "name": "Org Name", "value": "Acme", "modified_on": time(5)}]
    lists["groups"] = [
        {**REPORTERS, "query": None, "status": "ready", "system": False, "count": 3},
        {**ADULTS, "query": "age >= 20", "status": "ready", "system": False, "count": 3},
        {"uuid": uid(1, 3), "name": "Odd", "query": "history = 1", "status": "ready", "system": False, "count": 0},
    ]
    lists["labels"] = [{**IMPORTANT, "count": 2}]
    lists["topics"] = [
        {"uuid": uid(8, 1), "name": "General", "counts": {"open": 0, "closed": 0}, "system": True},
        {"uuid": uid(8, 2), "name": "Medicine", "system": False, "created_on": time(7)},
    ]
    lists["resthooks"] = [{"resthook": "new-report", "created_on": time(1), "modified_on": time(1)}]
    lists["resthook_subscribers"] = [
        {"id": 7, "resthook": "new-report", "target_url": "https://hooks.example.org/x", "created_on": time(2)}
    ]
    translation = {"channel": CHANNEL, "namespace": "", "locale": "eng-US", "status": "approved", "content": "Hi {{1}}"}
    lists["templates"] = [{"uuid": uid(9, 1), "name": "greeting", "translations": [translation], "created_on": time(3)}]


def _fill_flows(server: OtherServer, runs: int) -> None:
    lists = server.lists
    lists["flows"] = [
        {
            **FLOW,
            "type": "message",
            "archived": False,
            "labels": [{"uuid": uid(4, 9), "name": "Baseline"}],
            "expires": 60,
            "runs": {"active": 0, "completed": runs},
            "created_on": time(10),
            "modified_on": time(11),
        }
    ]
    lists["campaigns"] = [{"uuid": CAMPAIGN, "name": "Reminders", "archived": False, "group": REPORTERS}]
    trigger = {
        "trigger_type": "K",
        "flow": FLOW,
        "keywords": ["join"],
        "match_type": "F",
        "groups": [],
        "channel": None,
    }
    server.definitions = {
        FLOW["uuid"]: {"flows": [definition()], "triggers": [trigger], "campaigns": [campaign()]},
        CAMPAIGN: {"campaigns": [campaign()], "groups": [{**REPORTERS, "query": None}]},
    }


def _fill_contacts(lists: Lists, people: int) -> None:
    lists["contacts"] = [contact(number) for number in range(people)]
    lists["tickets"] = [
        {
            "uuid": uid(11, 1),
            "contact": {"uuid": uid(10, 1), "name": "Person 1"},
            "status": "open",
            "topic": {"uuid": uid(8, 2), "name": "Medicine"},
            "assignee": {"email": "bench@example.com", "name": "B"},
            "body": "needs a refill",
            "opened_on": time(1500),
            "opened_by": None,
            "opened_in": FLOW,
            "modified_on": time(1501),
            "closed_on": None,
        }
    ]


def _fill_messages(lists: Lists, people: int, messages: int) -> None:
    lists["broadcasts"] = [
        {
            "id": 9046,
            "urns": [],
            "contacts": [{"uuid": uid(10, 0), "name": "Person 0"}],
            "groups": [REPORTERS],
            "text": {"eng": "Hello"},
            "attachments": {"eng": []},
            "base_language": "eng",
            "status": "queued",
            "created_on": time(1002),
        }
    ]
    lists["messages"] = [message(number, number % people) for number in range(messages)]
    for number, changes in ((1, {"broadcast": 9046}), (3, {"status": "queued"})):
        if number < messages:
            lists["messages"][number] |= changes
    lists["messages"].append(message(77, 99))


def _fill_runs(lists: Lists, people: int, runs: int) -> None:
    lists["flow_starts"] = [
        {
            "id": 7736,
            "uuid": START,
            "flow": FLOW,
            "status": "pending",
            "groups": [REPORTERS],
            "contacts": [{"uuid": uid(10, 0), "name": "Person 0"}],
            "params": {"k": "v"},
            "created_on": time(1050),
            "modified_on": time(1051),
            "restart_participants": True,
            "exclude_active": False,
        }
    ]
    lists["runs"] = [run(number, number % people) for number in range(runs)]
    lists["runs"][1] |= {"exit_type": None, "exited_on": None}
    lists["channel_events"] = [
        {
            "id": 5,
            "type": "call-in",
            "contact": {"uuid": uid(10, 2), "name": "Person 2"},
            "channel": CHANNEL,
            "extra": {"duration": 30},
            "occurred_on": time(1060),
            "created_on": time(1061),
        }
    ]


def _fill_archives(server: OtherServer) -> None:
    content = gzip.compress(b'{"id": 1, "text": "long ago"}\n', mtime=0)
    server.files["/archives/1.jsonl.gz"] = content
    server.lists["archives"] = [
        {
            "type": "message",
            "start_date": "2025-10-01",
            "period": "daily",
            "record_count": 1,
            "size": len(content),
            "hash": hashlib.md5(content).hexdigest(),
            "download_url": f"{server.url}/archives/1.jsonl.gz",
        }
    ]
