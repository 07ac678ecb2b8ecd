"""Actions that write to the contact (flow format, messages)."""

from __future__ import annotations

from typing import Any

from flows.definition import Action
from flows.engine.actions.contents import Content, evaluate_content
from flows.engine.actions.references import find_asset
from flows.engine.actions.templating import evaluate_variables, fill_template, find_template
from flows.engine.assets import Channel
from flows.engine.contact import without_query
from flows.engine.visit import Visit
from flows.urns import Urn

_UNSENDABLE_STATUSES = {"blocked": "contact_blocked", "stopped": "contact_stopped", "archived": "contact_archived"}


def send_msg(visit: Visit, action: Action) -> None:
    """Makes one message per route, or one that cannot be sent if there is none."""
    contact = visit.sprint.session.contact
    content = evaluate_content(visit, action)
    template = find_template(visit, action)
    values = evaluate_variables(visit, action) if template else []
    routes: list[tuple[Urn | None, Channel | None]] = [*contact.find_routes(visit.sprint.assets)]
    if not (visit.options.is_early and action.fields.get("all_urns")):
        routes = routes[:1]
    for urn, channel in routes or [(None, None)]:
        filled = fill_template(visit, template, channel, values) if template else None
        message = start_message(visit, urn, channel, filled.content if filled else content)
        if filled:
            message["templating"] = filled.templating
        if visit.options.is_early and action.fields.get("topic"):
            message["topic"] = action.fields["topic"]
        locale = filled.locale if filled else make_locale(visit, content.language)
        if locale:
            message["locale"] = locale
        reason = _unsendable_reason(visit, channel, message["text"])
        if reason:
            message["unsendable_reason"] = reason
        visit.log.add("msg_created", {"msg": message})


def request_optin(visit: Visit, action: Action) -> None:
    """Asks the contact to opt in; generation 14 no longer does."""
    if not visit.options.is_early:
        visit.log.error("opt-in requests are no longer supported", "action:unsupported")
        return
    optin = find_asset(visit, "optin", visit.sprint.assets.optins, action.fields["optin"])
    routes = visit.sprint.session.contact.find_routes(visit.sprint.assets)
    if optin is not None and routes:
        urn, channel = routes[0]
        fields = {"optin": optin.reference, "channel": channel.reference, "urn": without_query(urn)}
        visit.log.add("optin_requested", fields)


def start_message(visit: Visit, urn: Urn | None, channel: Channel | None, content: Content) -> dict[str, Any]:
    """The fields that all outgoing messages have."""
    message: dict[str, Any] = {}
    if visit.options.is_early:
        # Later the event's own UUID is that of the message.
        message["uuid"] = visit.sprint.clock.uuid()
    if urn is not None:
        message["urn"] = without_query(urn)
    if channel is not None:
        message["channel"] = channel.reference
    return {**message, **content.to_json()}


def make_locale(visit: Visit, language: str) -> str:
    """Language and country of a message, such as `eng-US`."""
    country = visit.sprint.environment.default_country
    return f"{language}-{country}" if language and country else language


def _unsendable_reason(visit: Visit, channel: Channel | None, text: str) -> str:
    contact = visit.sprint.session.contact
    if contact.status in _UNSENDABLE_STATUSES:
        return _UNSENDABLE_STATUSES[contact.status]
    if channel is None:
        return "no_destination" if visit.options.is_early else "no_route"
    service = visit.sprint.services.sendable
    return service.check(contact.uuid, channel, text) if service else ""
