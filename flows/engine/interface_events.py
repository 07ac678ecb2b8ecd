"""The event bodies of this service's API: flow events and resthook events. They are built from the run, not by an
expression of the flow's author (flow format, the flow event).
"""

from collections.abc import Mapping
from typing import Any

from flows.engine.contact import without_query
from flows.engine.state import Result
from flows.engine.visit import Visit

POST = "POST"
JSON_HEADERS = {"Content-Type": "application/json"}


def make_interface_event(visit: Visit) -> dict[str, Any]:
    """Flow, contact, channel, run, path, results and input; channel and input are None without a message.

    The current step has no `exit_uuid`, because it has not been left. A contact without a URN has no `urn`, nor has any
    contact if URNs are redacted.
    """
    contact, run = visit.sprint.session.contact, visit.run
    received = visit.sprint.session.input
    channel = visit.sprint.assets.channels.get(((received or {}).get("channel") or {}).get("uuid", ""))
    channel = channel or contact.find_preferred_channel(visit.sprint.assets)
    is_redacted = visit.sprint.environment.redacts_urns
    urn = (received or {}).get("urn") or (without_query(contact.urns[0]) if contact.urns else None)
    named = {"name": contact.name or None, "uuid": contact.uuid, "language": contact.language or None}
    return {
        "flow": {"name": visit.flow.name, "uuid": visit.flow.uuid, "revision": visit.flow.revision},
        "contact": {**named, "urn": urn} if urn and not is_redacted else named,
        "channel": {"name": channel.name, "uuid": channel.uuid} if channel else None,
        "run": {"uuid": run.uuid, "created_on": run.created_on},
        "path": [{name: text for name, text in step.to_json().items() if name != "uuid"} for step in run.path],
        "results": {key: _describe_result(result) for key, result in run.results.items()},
        "input": _describe_input(received, is_redacted) if received else None,
    }


def _describe_result(result: Result) -> dict[str, Any]:
    names = ("node_uuid", "name", "category", "value", "input", "created_on")
    return {name: getattr(result, name) for name in names}


def _describe_input(received: Mapping[str, Any], is_redacted: bool) -> dict[str, Any]:
    """The message; its attachments are texts of the form `type:url`."""
    return {
        "urn": None if is_redacted else received.get("urn"),
        "text": received.get("text") or "",
        "attachments": [str(attachment) for attachment in received.get("attachments") or ()],
    }
