"""Changes of contacts that hosts request."""

from __future__ import annotations

from typing import Any

import pytest

from flows import Assets, Contact, Environment, Options, Services
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


def events_of(*modifiers: dict[str, Any], **contact: Any) -> list[dict[str, Any]]:
    """The first event of each modifier."""
    person = Contact.from_json({**CONTACT_JSON, "groups": [refer(GROUP), refer(SMART)], **contact})
    found = []
    for modifier in modifiers:
        log = EventLog(CountingClock(), 14)
        apply_modifier(ContactEditor(person, ASSETS, Environment(), CountingClock(), log), modifier)
        found.append(log.events[0])
    return found


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
        ({"type": "seen", "seen_on": "2025-01-01T00:00:00Z"}, "contact_last_seen_changed"),
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
        ({"type": "ticket_topic", "topic": refer(TOPIC)}, "ticket_topic_changed"),
    ],
)
def test_tickets_are_worked_on(modifier: dict[str, Any], event: str) -> None:
    tickets = [{"uuid": TICKET, "status": "open", "topic": refer(make_uuid(52))}]
    _, events, changed = edit({**modifier, "ticket_uuid": TICKET}, tickets=tickets)
    assert (event in events, changed) == (True, [True])
    assert edit({**modifier, "ticket_uuid": make_uuid(51)}, tickets=tickets)[2] == [False]


def test_an_assignment_names_who_had_the_ticket_before() -> None:
    tickets = [{"uuid": TICKET, "status": "open", "topic": refer(TOPIC), "assignee": refer(USER)}]
    nobody = {"type": "ticket_assignee", "ticket_uuid": TICKET, "assignee": None}
    somebody = {**nobody, "assignee": refer(USER)}

    first, second = events_of(nobody, somebody, tickets=tickets)

    assert (first["assignee"], first["prev_assignee"]) == (None, refer(USER))
    assert second["assignee"] == refer(USER)
    assert "prev_assignee" not in second


def test_being_seen_is_remembered_and_told_unless_it_was_earlier() -> None:
    seen = {"type": "seen", "seen_on": "2024-03-01T00:00:00Z"}
    person, events, changed = edit(
        {**seen, "seen_on": "2024-01-31T00:00:00Z"}, seen, {**seen, "seen_on": "2024-03-01T02:00:00+02:00"}
    )
    assert (person.last_seen_on, changed) == ("2024-03-01T00:00:00Z", [False, True, False])
    assert events.count("contact_last_seen_changed") == 1
    (told,) = events_of(seen)
    assert told["last_seen_on"] == "2024-03-01T00:00:00Z"
    assert edit(seen, last_seen_on="")[2] == [True]


def test_being_seen_moves_the_contact_between_groups() -> None:
    assets = Assets.from_json({"groups": [{**refer(SMART, "Recent"), "query": "last_seen_on > 2024-02-15"}]})
    log, clock = EventLog(CountingClock(), 14), CountingClock()
    editor = ContactEditor(Contact.from_json({**CONTACT_JSON, "groups": []}), assets, Environment(), clock, log)

    apply_modifier(editor, {"type": "seen", "seen_on": "2024-03-01T00:00:00Z"})

    assert [event["type"] for event in log.events] == ["contact_last_seen_changed", "contact_groups_changed"]


def test_appending_a_known_address_leaves_its_channel() -> None:
    known = f"tel:+12065551212?channel={CHANNEL}"
    other = {"type": "routes", "modification": "append", "routes": [{"urn": "tel:+12065551212", "channel": None}]}
    assert edit(other)[2] == [False]
    bare = {"urns": ["tel:+12065551212"]}
    with_channel = {**other, "routes": [{"urn": "tel:+12065551212", "channel": refer(CHANNEL)}]}
    person, _, changed = edit(with_channel, **bare)
    assert ([str(urn) for urn in person.urns], changed) == (["tel:+12065551212"], [False])
    person, _, changed = edit({**with_channel, "modification": "set"}, **bare)
    assert ([str(urn) for urn in person.urns], changed) == ([known], [True])
    new = {**other, "routes": [{"urn": "tel:+12065559999", "channel": refer(CHANNEL)}]}
    assert str(edit(new)[0].urns[-1]) == f"tel:+12065559999?channel={CHANNEL}"


@pytest.mark.parametrize(
    ("query", "is_redacted", "groups_see_urns", "is_member"),
    [
        ("tel ~ 1206", False, False, True),
        ("tel ~ 1206", True, False, False),
        ("tel ~ 1206", True, True, True),
        ('tel != ""', True, False, True),
        ('urn = ""', True, False, False),
    ],
)
def test_groups_go_by_redacted_addresses_only_for_hosts_that_say_so(
    query: str, is_redacted: bool, groups_see_urns: bool, is_member: bool
) -> None:
    assets = Assets.from_json({"groups": [{**refer(SMART, "Callers"), "query": query}]})
    log, clock = EventLog(CountingClock(), 14), CountingClock()
    environment = Environment(redaction_policy="urns" if is_redacted else "none")
    options = Options(groups_see_urns=groups_see_urns)
    person = Contact.from_json({**CONTACT_JSON, "groups": []})

    ContactEditor(person, assets, environment, clock, log, options=options).update_groups()

    assert (SMART in person.groups) is is_member


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
        {"type": "seen"},
        {"type": "seen", "seen_on": "yesterday"},
        {"type": "urns", "modification": "set", "urns": None},
        {"type": "groups", "modification": "add", "groups": None},
        {"type": "field", "field": None, "value": "x"},
        {},
    ],
)
def test_what_cannot_be_read_is_refused(modifier: dict[str, Any]) -> None:
    with pytest.raises(ModifierError):
        edit(modifier)


def test_an_asset_that_does_not_exist_is_an_error_event() -> None:
    missing = {"type": "channel", "channel": {**refer(CHANNEL), "uuid": make_uuid(60)}}
    assert edit(missing)[1:] == (["error"], [False])


def test_the_address_that_a_contact_used_comes_first_with_its_channel_and_unknown_ones_change_nothing() -> None:
    urns = ["mailto:ann@example.com", "tel:+12065551212"]
    used = {"type": "affinity", "urn": urns[1], "channel": refer(CHANNEL)}
    unknown = {"type": "affinity", "urn": "tel:+12065559999", "channel": refer(CHANNEL)}

    person, events, changed = edit(used, unknown, urns=urns)

    assert [urn.identity for urn in person.urns] == [urns[1], urns[0]]
    assert CHANNEL in person.to_json()["urns"][0]
    assert (events, changed) == (["contact_urns_changed"], [True, False])


def test_after_an_address_of_somebody_else_the_next_one_is_taken() -> None:
    class Claims:
        def claim(self, _contact_uuid: str, urn: Any) -> bool:
            return urn.path != "+12065557777"

    person, log = Contact.from_json({**CONTACT_JSON, "urns": []}), EventLog(CountingClock(), 14)
    editor = ContactEditor(person, ASSETS, Environment(), CountingClock(), log, Services(urns=Claims()))
    wanted = ["tel:+12065557777", "tel:+12065558888"]

    assert apply_modifier(editor, {"type": "urns", "urns": wanted, "modification": "append"})
    assert [urn.identity for urn in person.urns] == ["tel:+12065558888"]
    assert log.events[0]["code"] == "urn:taken"


def test_a_day_as_a_value_gets_the_time_of_now() -> None:
    person, _, _ = edit({"type": "field", "field": {"key": "town"}, "value": "2025-02-03"})

    assert person.fields["town"].to_json()["datetime"].startswith("2025-02-03T12:30:00")
