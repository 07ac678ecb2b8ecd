"""Any stored contact, workspace or session is read or refused."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flows import Assets, Contact, Environment, Session, SystemClock, start
from flows.engine import (
    AssetsError,
    ContactEditor,
    ContactError,
    EventLog,
    ModifierError,
    SessionStateError,
    apply_modifier,
)
from tests.flows.hypothesis.effort import tried, within_seconds
from tests.flows.hypothesis.hostile_values import JSON, damaged
from tests.flows.hypothesis.test_sessions import ENVIRONMENT, TRIGGER
from tests.flows.hypothesis.workspace import CHANNEL, CONTACT_JSON, GROUP, TOPIC, make_assets, refer

CLOCK = SystemClock()
ASSETS = Assets.from_json(make_assets(14))
SESSION = start(ASSETS, CONTACT_JSON, TRIGGER, ENVIRONMENT, clock=CLOCK)[0].to_json()
MODIFIERS: list[dict[str, Any]] = [
    {"type": "name", "name": "Bob"},
    {"type": "language", "language": "spa"},
    {"type": "timezone", "timezone": "UTC"},
    {"type": "status", "status": "blocked"},
    {"type": "field", "field": {"key": "age", "name": "Age"}, "value": "12"},
    {"type": "groups", "groups": [refer(GROUP)], "modification": "remove"},
    {"type": "urns", "urns": ["tel:+12065551213"], "modification": "append"},
    {"type": "channel", "channel": refer(CHANNEL)},
    {"type": "ticket_open", "topic": refer(TOPIC), "assignee": None, "note": "Help"},
]


@tried
@given(JSON | damaged(SESSION))
def test_any_stored_session_is_read_or_refused(stored: Any) -> None:
    try:
        Session.from_json(stored)
    except SessionStateError:
        return


@tried
@given(JSON | damaged(CONTACT_JSON))
def test_any_contact_is_read_or_refused(described: Any) -> None:
    try:
        contact = Contact.from_json(described)
    except ContactError:
        return
    assert Contact.from_json(contact.to_json()) == contact


@tried
@given(JSON | damaged(CONTACT_JSON))
def test_a_session_starts_with_any_contact_that_can_be_read(described: Any) -> None:
    try:
        with within_seconds():
            session, _ = start(ASSETS, described, TRIGGER, ENVIRONMENT, clock=CLOCK)
    except ContactError:
        return
    assert session.is_waiting


@tried
@given(JSON | damaged({**make_assets(14), "flows": []}))
def test_any_assets_are_read_or_refused(described: Any) -> None:
    try:
        Assets.from_json(described)
    except AssetsError:
        return


@tried
@given(JSON | st.sampled_from(MODIFIERS).flatmap(damaged))
def test_any_modifier_is_applied_or_refused(modifier: Any) -> None:
    contact = Contact.from_json(CONTACT_JSON)
    editor = ContactEditor(contact, ASSETS, Environment(), CLOCK, EventLog(CLOCK, 14))
    try:
        apply_modifier(editor, modifier)
    except ModifierError:
        assert contact == Contact.from_json(CONTACT_JSON)
