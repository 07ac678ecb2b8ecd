"""Classifiers: services that find the intent of a text."""

from collections.abc import Sequence
from typing import Any

from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.lists import ListSpec, equals, within
from persistence.pages import Order
from persistence.records import Record
from persistence.sql.names import free_name, require_id
from persistence.statements import update
from persistence.tables.service import classifier
from persistence.workspaces.records import hold_workspace

TYPES = ("wit", "luis", "bothub")
INTENT_LENGTH = 255

CLASSIFIER_RECORD = Record(
    {
        "uuid": classifier.c.uuid,
        "name": classifier.c.name,
        "type": classifier.c.type,
        "intents": classifier.c.intents,
        "created_on": classifier.c.created_on,
    }
)

CLASSIFIERS = ListSpec(
    classifier,
    CLASSIFIER_RECORD,
    Order(classifier.c.created_on, classifier.c.id),
    filters={"uuid": equals(classifier.c.uuid), **within(classifier.c.created_on)},
)


def create_classifier(tx: Transaction, workspace_id: int, name: str, kind: str, intents: Sequence[str]) -> int:
    """Create a classifier; returns its id. Raises InvalidInput for a bad or taken name or a bad intent."""
    naming = free_name(tx, workspace_id, classifier, name)
    known = _check_intents(intents)
    return tx.insert(classifier, workspace_id=workspace_id, type=kind, intents=known, created_on=tx.now, **naming)


def change_classifier(
    tx: Transaction, workspace_id: int, uuid: str, name: str | None, intents: Sequence[str] | None
) -> int:
    """Change the name or the intents of a classifier, None for what stays; returns its id. Raises RecordMissing or
    InvalidInput.
    """
    hold_workspace(tx, workspace_id)
    classifier_id = require_id(tx, workspace_id, classifier, uuid)
    values: dict[str, Any] = {} if intents is None else {"intents": _check_intents(intents)}
    if name is not None:
        values |= free_name(tx, workspace_id, classifier, name, besides_id=classifier_id)
    if values:
        mine = (classifier.c.workspace_id == workspace_id) & (classifier.c.id == classifier_id)
        tx.execute(update(classifier).where(mine).values(**values))
    return classifier_id


def _check_intents(intents: Sequence[str]) -> list[str]:
    if not all(0 < len(intent.strip()) <= INTENT_LENGTH for intent in intents):
        raise InvalidInput.on("intents", f"An intent has 1 to {INTENT_LENGTH} characters.")
    return sorted({intent.strip() for intent in intents})
