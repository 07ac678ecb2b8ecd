"""Export files for tests."""

from __future__ import annotations

from typing import Any

from tests.flows.definition.specimens import GROUP, Json, make_flow, make_uuid

CAMPAIGN, EVENT = make_uuid(61), make_uuid(62)


def make_file(**more: Any) -> Json:
    """An empty export file of version 13."""
    empty: Json = {"flows": [], "campaigns": [], "triggers": [], "fields": [], "groups": []}
    return {"version": "13", "site": "https://messages.example.org", **empty, **more}


def make_event(**more: Any) -> Json:
    """An event of a campaign that starts a flow."""
    return {
        "uuid": EVENT,
        "offset": 3,
        "unit": "D",
        "event_type": "F",
        "delivery_hour": 9,
        "message": None,
        "relative_to": {"label": "Due Date", "key": "due_date"},
        "start_mode": "S",
        "flow": {"uuid": make_uuid(63), "name": "Reminder"},
        **more,
    }


def make_message_event(**more: Any) -> Json:
    """An event of a campaign that sends a message."""
    event = {**make_event(), "event_type": "M", "message": {"eng": "Hi", "spa": "Hola"}, "base_language": "spa", **more}
    del event["flow"]
    return event


def make_campaign(*events: Json, **more: Any) -> Json:
    group = {"uuid": GROUP, "name": "Members"}
    return {"uuid": CAMPAIGN, "name": "Reminders", "group": group, "events": list(events), **more}


def make_trigger(kind: str, **more: Any) -> Json:
    trigger: Json = {
        "trigger_type": kind,
        "flow": {"uuid": make_uuid(63), "name": "Reminder"},
        "channel": None,
        "groups": [],
        "exclude_groups": [],
    }
    if kind == "K":
        trigger |= {"keywords": ["join", "start"], "match_type": "O"}
    return {**trigger, **more}


def make_old_file(*flows: Json, version: Any = 4, **more: Any) -> Json:
    """A file of the days when flows had numbers; each flow is a name, a number and its actions."""
    return {"version": version, "site": "http://old.example.org", "flows": list(flows), "triggers": [], **more}


def make_old_flow(number: int, name: str, *actions: Json) -> Json:
    action_set = {"uuid": make_uuid(number), "x": 0, "y": 0, "destination": None, "actions": list(actions)}
    inner = {"base_language": "eng", "action_sets": [action_set], "rule_sets": [], "entry": make_uuid(number)}
    return {"id": number, "name": name, "flow_type": "F", "definition": {**inner, "metadata": {}}}


FULL_FILE = make_file(
    flows=[make_flow(version="14.4.2")],
    campaigns=[make_campaign(make_event(), make_message_event(uuid=make_uuid(64)))],
    triggers=[make_trigger("K"), make_trigger("C", channel={"uuid": make_uuid(65), "name": "Phone"})],
    fields=[{"key": "due_date", "name": "Due Date", "type": "datetime"}],
    groups=[
        {"uuid": GROUP, "name": "Members", "query": None},
        {"uuid": make_uuid(66), "name": "Old", "query": "age > 9"},
    ],
)
