"""Runs the actions of nodes (flow format, actions)."""

from __future__ import annotations

from collections.abc import Callable

from flows.definition import Action
from flows.engine.actions import (
    airtime,
    broadcasts,
    calls,
    contacts,
    emails,
    flow_control,
    groups,
    intents,
    labels,
    language_models,
    messages,
    resthooks,
    results,
    ticketing,
    voice,
)
from flows.engine.visit import Visit

ACTIONS: dict[str, Callable[[Visit, Action], None]] = {
    "add_contact_groups": groups.add_contact_groups,
    "add_contact_urn": contacts.add_contact_urn,
    "add_input_labels": labels.add_input_labels,
    "call_classifier": intents.call_classifier,
    "call_llm": language_models.call_llm,
    "call_resthook": resthooks.call_resthook,
    "call_webhook": calls.call_webhook,
    "enter_flow": flow_control.enter_flow,
    "open_ticket": ticketing.open_ticket,
    "play_audio": voice.play_audio,
    "remove_contact_groups": groups.remove_contact_groups,
    "request_optin": messages.request_optin,
    "say_msg": voice.say_msg,
    "send_broadcast": broadcasts.send_broadcast,
    "send_email": emails.send_email,
    "send_msg": messages.send_msg,
    "set_contact_channel": contacts.set_contact_channel,
    "set_contact_field": contacts.set_contact_field,
    "set_contact_language": contacts.set_contact_language,
    "set_contact_name": contacts.set_contact_name,
    "set_contact_status": contacts.set_contact_status,
    "set_contact_timezone": contacts.set_contact_timezone,
    "set_run_local": results.set_run_local,
    "set_run_result": results.set_run_result,
    "start_session": flow_control.start_session,
    "transfer_airtime": airtime.transfer_airtime,
}


def run_action(visit: Visit, action: Action) -> None:
    """Runs one action; one of a type that is not known is an error event and nothing else."""
    run = ACTIONS.get(action.type)
    if run is None:
        visit.log.error(f"{action.type} actions are not supported", "action:unsupported")
        return
    run(visit, action)
