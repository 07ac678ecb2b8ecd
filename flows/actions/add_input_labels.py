"""Labels the last incoming message (flow format, add_input_labels)."""

from flows.definition import Action
from flows.definition.action_types import NOT_IN_BACKGROUND, action_type
from flows.definition.fields import MOST_REFERENCES, items, named
from flows.engine.recipients import find_labels
from flows.engine.visit import Visit


@action_type(
    {"labels": items(named("label"), MOST_REFERENCES, required=True)},
    allowed_in=NOT_IN_BACKGROUND,
    drawn="Label with {labels}",
    palette="keep",
)
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
