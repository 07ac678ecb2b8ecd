"""The action that writes to others (flow format, send_broadcast)."""

from __future__ import annotations

from typing import Any

from flows.definition import Action
from flows.engine.actions.contents import evaluate_content
from flows.engine.actions.recipients import resolve_recipients
from flows.engine.actions.templating import evaluate_variables, find_template
from flows.engine.visit import Visit


def send_broadcast(visit: Visit, action: Action) -> None:
    """Asks the host to send a message to others, in every language that the flow has.

    What a language has no translation of is as in the flow's own.
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
