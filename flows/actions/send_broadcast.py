"""Sends a message to others (flow format, send_broadcast)."""

from typing import Any

from flows.definition import Action
from flows.definition.action_types import NOT_OFFLINE, action_type
from flows.definition.fields import MESSAGE, RECIPIENTS, any_of
from flows.engine.message_content import evaluate_content, evaluate_variables, find_template
from flows.engine.recipients import resolve_recipients
from flows.engine.visit import Visit


@action_type(
    {**RECIPIENTS, **MESSAGE},
    allowed_in=NOT_OFFLINE,
    rule=any_of("text", "attachments", "quick_replies", "template"),
    drawn="Broadcast: {text}",
    palette="send",
)
def send_broadcast(visit: Visit, action: Action) -> None:
    """Asks the host to send a message to others, in every language of the flow. Parts without a translation are in the
    flow's own language.
    """
    recipients = resolve_recipients(visit, action)
    if visit.sprint.session.is_batch and recipients.is_open:
        visit.log.error("Can't send broadcasts to groups during batch starts")
        return
    own = visit.flow.language
    languages = dict.fromkeys([own, *visit.flow.localization])
    translations = {language: evaluate_content(visit, action, [language, own]).to_json() for language in languages}
    if recipients.is_empty:
        return
    fields: dict[str, Any] = {"translations": translations, "base_language": own, **recipients.to_json()}
    template = find_template(visit, action)
    if template is not None:
        fields["template"] = template.reference
        values = [value for value, _ in evaluate_variables(visit, action)]
        if values:
            fields["template_variables"] = values
    visit.log.add("broadcast_created", fields)
