"""Triggers, which start sessions (flow format, triggers)."""

from collections.abc import Mapping
from typing import Any

from flows.engine.errors import TriggerError
from flows.engine.input_schemas import TRIGGER
from flows.engine.messages_in import receive_message
from flows.engine.schemas import ANYTHING, find_mismatch
from flows.engine.sprint import Sprint

TRIGGER_TYPES = ("campaign", "channel", "chat", "call", "flow_action", "manual", "msg", "optin", "ticket", "voice")
KEYWORD_MATCHES = ("first_word", "only_word")
_NEEDED = {"flow_action": ("run_summary",), "ticket": ("ticket",)}


class CheckedTrigger(dict[str, Any]):
    """A trigger that was checked once, to start many contacts with. Nobody may change it. Raises TriggerError."""

    def __init__(self, trigger: Mapping[str, Any]) -> None:
        check_trigger(trigger)
        super().__init__(trigger)


def check_trigger(trigger: Mapping[str, Any]) -> None:
    """Checks a trigger against its schema; raises TriggerError."""
    if isinstance(trigger, CheckedTrigger):
        return
    if not isinstance(trigger, Mapping):
        raise TriggerError("a trigger is an object")
    mismatch = find_mismatch(trigger, TRIGGER) or find_mismatch(trigger, ANYTHING)
    if mismatch:
        raise TriggerError(f"field '{mismatch}' is missing or of another type")
    kind = trigger.get("type")
    if kind not in TRIGGER_TYPES:
        raise TriggerError(f"{kind!r} is not a type of trigger")
    missing = [name for name in ("flow", *_NEEDED.get(kind, ())) if not isinstance(trigger.get(name), Mapping)]
    if kind == "ticket":
        missing = [name for name in missing if name != "ticket" or not (trigger.get("event") or {}).get("ticket")]
    if missing:
        raise TriggerError(", ".join(f"field '{name}' is required" for name in missing))
    _check_event(kind, trigger)


def prepare_trigger(sprint: Sprint) -> None:
    """Applies a trigger before the first run begins: a message becomes the input."""
    trigger = sprint.session.trigger
    if trigger["type"] == "msg":
        receive_message(sprint, trigger, str(trigger.get("triggered_on") or ""))


def _check_event(kind: str, trigger: Mapping[str, Any]) -> None:
    event = trigger.get("event")
    if kind == "campaign" and (event is None or event.get("type", "campaign_fired") != "campaign_fired"):
        raise TriggerError("campaign trigger event must be of type campaign_fired")
    if kind == "msg":
        _check_message(trigger)
    if kind in ("chat", "channel", "optin", "call") and event is None:
        raise TriggerError("field 'event' is required")


def _check_message(trigger: Mapping[str, Any]) -> None:
    message = (trigger.get("event") or {}).get("msg") or trigger.get("msg")
    if not isinstance(message, Mapping):
        raise TriggerError("field 'event' is required")
    match = trigger.get("keyword_match")
    if match is None:
        return
    for name in ("type", "keyword"):
        if not match.get(name):
            raise TriggerError(f"field 'keyword_match.{name}' is required")
    if match["type"] not in KEYWORD_MATCHES:
        raise TriggerError(f"{match['type']!r} is not a type of keyword match")
