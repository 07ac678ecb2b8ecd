"""Each type of event has an effect or is only recorded."""

from typing import get_args, get_type_hints

from flows.events import AnyEvent
from worker.flows.effects import TYPES, WAITS

KINDS = {get_args(get_type_hints(kind)["type"])[0] for kind in get_args(AnyEvent)}
"""Every type of event that the engine gives."""

TOLD_ONLY = {
    "airtime_created",
    "airtime_transferred",
    "contact_last_seen_changed",
    "contact_refreshed",
    "dial_ended",
    "email_sent",
    "environment_refreshed",
    "error",
    "failure",
    "flow_entered",
    "llm_called",
    "msg_received",
    "optin_requested",
    "run_ended",
    "run_expired",
    "run_result_changed",
    "run_started",
    "service_called",
    "ticket_assignee_changed",
    "ticket_closed",
    "ticket_reopened",
    "ticket_topic_changed",
    "wait_timed_out",
    "warning",
}
"""Types that change nothing but their session, which is stored as a whole, or that a service has carried out."""


def test_every_type_of_event_has_an_effect_or_only_tells_something() -> None:
    assert TYPES | set(WAITS) == KINDS - TOLD_ONLY
