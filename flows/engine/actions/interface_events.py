"""The event bodies that hosts of this service's interface send: flow events and resthook events.

They are built from the run instead of by an expression of the flow's author (flow format, the flow event).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flows.engine.contact import without_query
from flows.engine.state import Result
from flows.engine.visit import Visit

POST = "POST"
JSON_HEADERS = {"Content-Type": "application/json"}


def make_interface_event(visit: Visit) -> dict[str, Any]:
    """Flow, contact, channel, run, path, results and input; channel and input are None without a message.

    The step under way has no `exit_uuid`, because it has not been left.
    """
    contact, run = visit.sprint.session.contact, visit.run
    received = visit.sprint.session.input
    channel = visit.sprint.assets.channels.get(((received or {}).get("channel") or {}).get("uuid", ""))
    channel = channel or contact.find_preferred_channel(visit.sprint.assets)
    urn = (received or {}).get("urn") or (without_query(contact.urns[0]) if contact.urns else None)
    return {
        "flow": {"name": visit.flow.name, "uuid": visit.flow.uuid, "revision": visit.flow.revision},
        "contact": {"name": contact.name, "uuid": contact.uuid, "urn": urn, "language": contact.language or None},
        "channel": {"name": channel.name, "uuid": channel.uuid} if channel else None,
        "run": {"uuid": run.uuid, "created_on": run.created_on},
        "path": [{name: text for name, text in step.to_json().items() if name != "uuid"} for step in run.path],
        "results": {key: _describe_result(result) for key, result in run.results.items()},
        "input": _describe_input(received) if received else None,
    }


def _describe_result(result: Result) -> dict[str, Any]:
    names = ("node_uuid", "name", "category", "value", "input", "created_on")
    return {name: getattr(result, name) for name in names}


def _describe_input(received: Mapping[str, Any]) -> dict[str, Any]:
    attachments = [str(attachment).partition(":")[2] for attachment in received.get("attachments") or ()]
    return {"urn": received.get("urn"), "text": received.get("text") or "", "attachments": attachments}
