"""Changes to contacts that hosts ask for."""

from __future__ import annotations

from typing import Any

import pytest

from flows import Assets, Contact, Environment
from flows.engine import ContactEditor, EventLog, ModifierError, apply_modifier
from tests.flows.engine.playing import CountingClock
from tests.flows.hypothesis.workspace import (
    CHANNEL,
    CONTACT_JSON,
    GROUP,
    SMART,
    TOPIC,
    USER,
    make_assets,
    make_uuid,
    refer,
)

ASSETS = Assets.from_json({**make_assets(14), "flows": []})
TICKET = make_uuid(50)


def edit(*modifiers: dict[str, Any], **contact: Any) -> tuple[Contact, list[str], list[bool]]:
    """The contact after the modifiers, the types of events, and whether each changed something."""
    clock = CountingClock()
    groups = {"groups": [refer(GROUP), refer(SMART)]}
    person = Contact.from_json({**CONTACT_JSON, **groups, **contact})
    log = EventLog(clock, 14)
    editor = ContactEditor(person, ASSETS, Environment(), clock, log)
    changed = [apply_modifier(editor, modifier) for modifier in modifiers]
    return person, [event["type"] for event in log.events], changed


@pytest.mark.parametrize(
    ("modifier", "event"),
    [
        ({"type": "name", "name": "Bob"}, "contact_name_changed"),
        ({"type": "language", "language": "spa"}, "contact_language_changed"),
        ({"type": "timezone", "timezone": "UTC"}, "contact_timezone_changed"),
        ({"type": "status", "status": "blocked"}, "contact_status_changed"),
        ({"type": "field", "field": {"key": "town"}, "value": "Lima"}, "contact_field_changed"),
        ({"type": "groups", "groups": [refer(GROUP)], "modification": "remove"}, "contact_groups_changed"),
        ({"type": "urns", "urns": ["tel:+12065559999"], "modification": "append"}, "contact_urns_changed"),
        ({"type": "urns", "urns": ["mailto:ann@example.com"], "modification": "remove"}, "contact_urns_changed"),
        ({"type": "urns", "urns": ["tel:+12065559999"], "modification": "set"}, "contact_urns_changed"),
        ({"type": "channel", "channel": None}, "contact_urns_changed"),
        ({"type": "ticket_open", "topic": refer(TOPIC), "assignee": refer(USER), "note": ""}, "ticket_opened"),
    ],
)
def test_a_change_makes_an_event_and_the_same_again_makes_none(modifier: dict[str, Any], event: str) -> None:
    _, events, changed = edit(modifier, modifier)
    assert (events.count(event), changed) == (1, [True, False])


@pytest.mark.parametrize(
    ("modifier", "event"),
    [
        ({"type": "ticket_close"}, "ticket_closed"),
        ({"type": "ticket_assignee", "assignee": refer(USER)}, "ticket_assignee_changed"),
        ({"type": "ticket_note", "note": "Help"}, "ticket_note_added"),
    ],
)
def test_tickets_are_worked_on(modifier: dict[str, Any], event: str) -> None:
    tickets = [{"uuid": TICKET, "status": "open", "topic": refer(TOPIC)}]
    _, events, changed = edit({**modifier, "ticket_uuid": TICKET}, tickets=tickets)
    assert (event in events, changed) == (True, [True])
    assert edit({**modifier, "ticket_uuid": make_uuid(51)}, tickets=tickets)[2] == [False]


def test_a_closed_ticket_is_reopened_unless_another_is_open() -> None:
    closed = {"uuid": TICKET, "status": "closed", "topic": refer(TOPIC)}
    reopen = {"type": "ticket_reopen", "ticket_uuid": TICKET}
    assert edit(reopen, tickets=[closed])[2] == [True]
    assert edit(reopen, tickets=[closed, {"uuid": make_uuid(51), "status": "open"}])[2] == [False]


def test_groups_with_queries_follow_the_fields() -> None:
    contact, _, _ = edit({"type": "field", "field": {"key": "age"}, "value": "12"}, groups=[refer(SMART)])
    assert contact.groups == []


@pytest.mark.parametrize(
    "modifier",
    [
        {"type": "song"},
        {"type": "language", "language": "klingon"},
        {"type": "timezone", "timezone": "Mars/Base"},
        {"type": "status", "status": "lost"},
        {"type": "groups", "groups": [refer(GROUP)], "modification": "shuffle"},
        {"type": "groups", "groups": "all", "modification": "add"},
        {"type": "urns", "urns": [5], "modification": "add"},
        {"type": "channel", "channel": {"name": "Phone"}},
        {"type": "ticket_note", "ticket_uuid": TICKET, "note": ""},
        {},
    ],
)
def test_what_cannot_be_read_is_refused(modifier: dict[str, Any]) -> None:
    with pytest.raises(ModifierError):
        edit(modifier)


def test_an_asset_that_does_not_exist_is_an_error_event() -> None:
    missing = {"type": "channel", "channel": {**refer(CHANNEL), "uuid": make_uuid(60)}}
    assert edit(missing)[1:] == (["error"], [False])
