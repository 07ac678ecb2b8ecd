"""Which actions and waits may stand in which types of flow (flow format, section 2.2)."""

from __future__ import annotations

from typing import Any

import pytest

from flows.definition import DefinitionError, load
from flows.definition.action_types import action_types
from tests.flows.engine.playing import flow, node, switch

MESSAGING, BACKGROUND, OFFLINE, VOICE = "messaging", "messaging_background", "messaging_offline", "voice"
TYPES = (MESSAGING, BACKGROUND, OFFLINE, VOICE)
ALL = (
    "add_contact_groups add_contact_urn enter_flow remove_contact_groups send_msg set_contact_field "
    "set_contact_language set_contact_name set_contact_status set_contact_timezone set_run_local set_run_result"
)
ONLINE = (
    "call_classifier call_llm call_resthook call_webhook open_ticket request_optin send_broadcast send_email "
    "set_contact_channel start_session transfer_airtime"
)
PLACES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(ALL.split(), TYPES),
    **dict.fromkeys(ONLINE.split(), (MESSAGING, BACKGROUND, VOICE)),
    "add_input_labels": (MESSAGING, OFFLINE, VOICE),
    **dict.fromkeys(("play_audio", "say_msg"), (VOICE,)),
}


def test_the_table_names_the_actions_of_the_format() -> None:
    assert set(PLACES) <= set(action_types())


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("flow_type", TYPES)
def test_an_action_stands_where_it_may(kind: str, flow_type: str) -> None:
    assert (flow_type in action_types()[kind].allowed_in) is (flow_type in PLACES[kind])


@pytest.mark.parametrize("flow_type", TYPES)
@pytest.mark.parametrize(
    ("wait", "places"),
    [({"type": "msg"}, (MESSAGING, OFFLINE, VOICE)), ({"type": "dial", "phone": "+12065551212"}, (VOICE,))],
)
def test_a_wait_stands_where_it_may(wait: dict[str, Any], places: tuple[str, ...], flow_type: str) -> None:
    definition = flow(node(0, router=switch(0, "x", wait=wait)), type=flow_type)
    if flow_type in places:
        load(definition)
        return
    with pytest.raises(DefinitionError):
        load(definition)
