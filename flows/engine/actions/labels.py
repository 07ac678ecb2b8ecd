"""The action that labels the message that came last (flow format, add_input_labels)."""

from __future__ import annotations

from flows.definition import Action
from flows.engine.actions.references import find_labels
from flows.engine.visit import Visit


def add_input_labels(visit: Visit, action: Action) -> None:
    """Labels the input; an error if there is none."""
    received = visit.sprint.session.input
    if received is None:
        visit.log.error("No input to add labels to")
        return
    labels = find_labels(visit, action.fields.get("labels") or ())
    if labels:
        references = [label.reference for label in labels]
        visit.log.add("input_labels_added", {"input_uuid": received.get("uuid", ""), "labels": references})
