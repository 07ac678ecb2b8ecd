"""The action that writes to others (flow format, send_broadcast)."""

from __future__ import annotations

from typing import Any

from flows.definition import Action
from flows.engine.actions.contents import evaluate_content
from flows.engine.actions.recipients import resolve_recipients
from flows.engine.actions.templating import evaluate_variables, find_template
from flows.engine.visit import Visit


def send_broadcast(visit: Visit, action: Action) -> None:
    """Asks the host to send a message to others, in every language that the flow has."""
    recipients = resolve_recipients(visit, action)
    if visit.sprint.session.is_batch and recipients.is_open:
        visit.log.error("Can't send broadcasts to groups during batch starts")
        return
    own = visit.flow.language
    translations: dict[str, Any] = {}
    for language in [own, *visit.flow.localization]:
        content = evaluate_content(visit, action, [language, own])
        if language == own or content.language == language:
            translations[language] = content.to_json()
    if recipients.is_empty:
        return
    fields: dict[str, Any] = {"translations": translations, "base_language": own, **recipients.to_json()}
    template = find_template(visit, action)
    if template is not None:
        fields["template"] = template.reference
        values = evaluate_variables(visit, action)
        if values:
            fields["template_variables"] = values
    visit.log.add("broadcast_created", fields)
