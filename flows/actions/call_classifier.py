"""Finds intents in a text (flow format, call_classifier)."""

from typing import Any

from flows.definition import Action
from flows.definition.action_types import FAILURE, NOT_OFFLINE, SKIPPED, SUCCESS, action_type
from flows.definition.fields import reference, template
from flows.engine.contact import plain_number
from flows.engine.recipients import find_asset
from flows.engine.services import Classification
from flows.engine.visit import Visit


@action_type(
    {"classifier": reference("classifier"), "input": template()},
    allowed_in=NOT_OFFLINE,
    categories=(SUCCESS, SKIPPED, FAILURE),
    calls_out=True,
    drawn="Classify with {classifier}",
    palette="call",
)
def call_classifier(visit: Visit, action: Action) -> None:
    """Saves the best intent as a result; from generation 14 on this fails, unless the host still has classifiers."""
    name = action.text("result_name")
    if not (visit.options.is_early or visit.sprint.has_classifiers):
        visit.log.warning("NLU classifiers are no longer supported")
        _save(visit, name, "0", FAILURE)
        return
    text = visit.text(action.text("input")).strip()
    if not text:
        visit.log.error("Can't classify empty input, skipping")
        _save(visit, name, "0", SKIPPED)
        return
    found = _classify(visit, action, text)
    if found is None:
        _save(visit, name, "0", FAILURE, text_input=text)
        return
    value = found.intents[0][0] if found.intents else ""
    _save(visit, name, value, SUCCESS, text_input=text, extra=_describe(found))


def _save(visit: Visit, name: str, value: str, category: str, *, text_input: str = "", extra: object = None) -> None:
    if name:
        visit.save_result(name, value, category, text_input=text_input, extra=extra)


def _classify(visit: Visit, action: Action, text: str) -> Classification | None:
    wanted = action.fields.get("classifier") or {}
    classifier = find_asset(visit, "classifier", visit.sprint.assets.classifiers, wanted)
    if classifier is None:
        return None
    service = visit.sprint.services.classifier
    found = visit.ask("classifier", service, lambda service: service.classify(classifier, text))
    if found is not None:
        logs = [dict(log) for log in found.http_logs]
        fields = {"service": "classifier", "classifier": classifier.reference, "http_logs": logs}
        visit.log.add("service_called", fields)
    return found


def _describe(found: Classification) -> dict[str, Any]:
    intents = [{"name": name, "confidence": plain_number(confidence)} for name, confidence in found.intents]
    entities = {
        name: [{"value": value, "confidence": plain_number(confidence)} for value, confidence in candidates]
        for name, candidates in found.entities.items()
    }
    return {"intents": intents, "entities": entities}
