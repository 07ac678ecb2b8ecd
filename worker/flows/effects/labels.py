from collections.abc import Sequence

from flows.engine import Event
from persistence.database import Transaction
from persistence.messages.actions import add_label
from persistence.tables.messages import label, message
from worker.flows.effects.audience import find_ids


def add_labels(tx: Transaction, workspace_id: int, events: Sequence[Event]) -> None:
    """Labels the incoming messages that flows labelled, all messages of a label at once."""
    labelled: dict[str, list[str]] = {}
    for event in events:
        if event["type"] == "input_labels_added":
            for each in event["labels"]:
                labelled.setdefault(each["uuid"], []).append(event["input_uuid"])
    label_ids = find_ids(tx, workspace_id, label, [{"uuid": uuid} for uuid in labelled])
    for uuid, label_id in sorted(label_ids.items(), key=lambda item: item[1]):
        inputs = [{"uuid": each} for each in labelled[uuid]]
        add_label(
            tx, workspace_id, sorted(find_ids(tx, workspace_id, message, inputs).values()), label_id, may_be_gone=True
        )
