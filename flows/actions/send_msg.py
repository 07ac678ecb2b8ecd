"""Sends a message to the contact (flow format, send_msg)."""

from flows.definition import Action
from flows.definition.action_types import action_type
from flows.definition.fields import MESSAGE, Field, any_of, asked, unchecked
from flows.engine.assets import Channel
from flows.engine.message_content import (
    evaluate_content,
    evaluate_variables,
    fill_template,
    find_template,
    make_locale,
    start_message,
)
from flows.engine.visit import Visit
from flows.urns import Urn

_UNSENDABLE_STATUSES = {"blocked": "contact_blocked", "stopped": "contact_stopped", "archived": "contact_archived"}


@action_type(
    {**MESSAGE, "all_urns": asked(Field(unchecked), "boolean", is_more=True)},
    rule=any_of("text", "attachments", "quick_replies", "template", "templating"),
    drawn="Send: {text}",
    palette="send",
)
def send_msg(visit: Visit, action: Action) -> None:
    """Creates one message per route, or one that cannot be sent if there is no route."""
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


def _unsendable_reason(visit: Visit, channel: Channel | None, text: str) -> str:
    contact = visit.sprint.session.contact
    if channel is None:
        return "no_destination" if visit.options.is_early else "no_route"
    if contact.status in _UNSENDABLE_STATUSES:
        return _UNSENDABLE_STATUSES[contact.status]
    service = visit.sprint.services.sendable
    return service.check(contact.uuid, channel, text) if service else ""
