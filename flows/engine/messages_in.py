"""Receives the messages that start and resume sessions (flow format, resuming)."""

from collections.abc import Mapping
from typing import Any

from flows.engine.sprint import Sprint
from flows.words import replace_unpaired

_KEPT = ("urn", "text", "external_id")


def receive_message(sprint: Sprint, cause: Mapping[str, Any], caused_on: str) -> None:
    """Makes the message of a trigger or resume the session's input and updates when the contact was last seen.

    The message is in `cause["event"]["msg"]` with the event's UUID, or before 14 in `cause["msg"]` with its own.
    """
    event = cause.get("event") or {}
    message = event.get("msg") or cause.get("msg") or {}
    received_on = str(event.get("created_on") or caused_on or sprint.now())
    channel = sprint.assets.channels.get((message.get("channel") or {}).get("uuid", ""))
    received: dict[str, Any] = {
        "type": "msg",
        "uuid": event.get("uuid") or message.get("uuid") or "",
        "created_on": received_on,
        "text": "",
        **{name: replace_unpaired(message[name]) for name in _KEPT if message.get(name)},
    }
    if channel is not None:
        received["channel"] = channel.reference
    if message.get("attachments"):
        received["attachments"] = list(message["attachments"])
    if message.get("payload"):
        received["payload"] = dict(message["payload"])
    sprint.session.input = received
    if sprint.options.is_early:
        sprint.log.add("msg_received", {"msg": {"text": "", **message}})
    sprint.session.contact.last_seen_on = received_on
