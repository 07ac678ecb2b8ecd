"""Calls the subscribers of a resthook (flow format, call_resthook)."""

from collections.abc import Sequence
from typing import Any

from flows.definition import Action
from flows.definition.action_types import FAILURE, NOT_OFFLINE, SUCCESS, action_type
from flows.definition.fields import text
from flows.engine.context.contact_context import REDACTED_PATH, preferred_urn
from flows.engine.context.root import describe_early_step
from flows.engine.interface_events import JSON_HEADERS, make_interface_event
from flows.engine.services import WebhookRequest
from flows.engine.state import Result, Step
from flows.engine.visit import Visit
from flows.engine.webhook_calls import CallOutcome, log_call, make_call, remember_call, save_call_result
from flows.environment import Environment, parse_moment, write_moment
from flows.expressions.conversions import render_json
from flows.expressions.functions.numbers import attachment_parts
from flows.expressions.values import to_value
from flows.urns import UrnError, parse

_NO_SUBSCRIBERS = "no subscribers"


@action_type(
    {"resthook": text(required=True)},
    allowed_in=NOT_OFFLINE,
    categories=(SUCCESS, FAILURE),
    calls_out=True,
    drawn="Tell subscribers of {resthook}",
    palette="call",
)
def call_resthook(visit: Visit, action: Action) -> None:
    """Posts the state of the contact and the run to every subscriber; does nothing if the resthook does not exist."""
    slug = action.fields["resthook"]
    name = action.text("result_name")
    resthook = visit.sprint.assets.resthooks.get(slug)
    if resthook is None:
        return
    payload = make_interface_event(visit) if visit.options.interface_events else make_payload(visit)
    visit.log.add("resthook_called", {"resthook": slug, "payload": payload})
    body = render_json(to_value(payload))
    outcomes: list[CallOutcome] = []
    for url in resthook.subscribers:
        outcome = make_call(visit, WebhookRequest("POST", url, JSON_HEADERS, body, slug), slug)
        if outcome is not None:
            log_call(visit, outcome)
            outcomes.append(outcome)
    if outcomes:
        decisive = choose_outcome(outcomes)
        remember_call(visit, decisive)
        if name:
            save_call_result(visit, name, decisive)
    elif name and (visit.options.is_early or resthook.subscribers):
        visit.save_result(name, "0" if resthook.subscribers else _NO_SUBSCRIBERS, FAILURE)


def choose_outcome(outcomes: Sequence[CallOutcome]) -> CallOutcome:
    """The call that decides the outcome: the last failed one, otherwise the last successful one, otherwise the last
    410."""
    failed = [item for item in outcomes if item.status in ("response_error", "connection_error")]
    good = [item for item in outcomes if item.is_success]
    return (failed or good or list(outcomes))[-1]


def make_payload(visit: Visit) -> dict[str, Any]:
    """Contact, flow, path, results, run, input and channel, in the form for subscribers. The contact's URN is the one
    that messages go to. If URNs are redacted, only their schemes are included.
    """
    contact, run = visit.sprint.session.contact, visit.run
    received = visit.sprint.session.input
    channel = visit.sprint.assets.channels.get(((received or {}).get("channel") or {}).get("uuid", ""))
    described = {"uuid": channel.uuid, "name": channel.name, "address": channel.address} if channel else None
    return {
        "contact": {
            "uuid": contact.uuid,
            "name": contact.name,
            "urn": preferred_urn(contact, visit.sprint.assets, visit.sprint.environment),
            "language": contact.language,
        },
        "flow": {"uuid": visit.flow.uuid, "name": visit.flow.name, "revision": visit.flow.revision},
        "path": [_describe_step(step, visit) for step in run.path],
        "results": {key: _describe_result(result) for key, result in run.results.items()},
        "run": {"uuid": run.uuid, "created_on": run.created_on},
        "input": _describe_input(received, described, visit.sprint.environment) if received else None,
        "channel": described,
    }


def _describe_step(step: Step, visit: Visit) -> dict[str, Any]:
    if visit.options.is_early:
        return describe_early_step(step)
    return {name: value for name, value in step.to_json().items() if name != "uuid"}


def _describe_result(result: Result) -> dict[str, Any]:
    return {
        "name": result.name,
        "value": result.value,
        "category": result.category,
        "category_localized": result.category_localized or result.category,
        "node_uuid": result.node_uuid,
        "input": result.input,
        "created_on": result.created_on,
    }


def _describe_input(received: Any, channel: Any, environment: Environment) -> dict[str, Any]:
    moment = parse_moment(str(received.get("created_on") or ""))
    attachments = [attachment_parts(str(attachment)) for attachment in received.get("attachments") or ()]
    return {
        "uuid": received.get("uuid"),
        "type": received.get("type"),
        "created_on": write_moment(moment) if moment else None,
        "channel": channel,
        "urn": _describe_urn(received.get("urn"), environment),
        "text": received.get("text") or "",
        "attachments": [{"content_type": kind, "url": url} for kind, url in attachments],
    }


def _describe_urn(given: str | None, environment: Environment) -> dict[str, str] | None:
    try:
        urn = parse(given or "")
    except UrnError:
        return None
    if environment.redacts_urns:
        return {"scheme": urn.scheme, "path": REDACTED_PATH, "display": REDACTED_PATH}
    return {"scheme": urn.scheme, "path": urn.path, "display": urn.show()}
