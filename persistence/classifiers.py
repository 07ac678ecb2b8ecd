"""Classifiers: services that find the intent of a text."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import insert, select

from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.sql.columns import (
    new_uuid,
)
from persistence.sql.json_sql import as_text, declare_record
from persistence.sql.names import check_name, check_name_is_free, name_key
from persistence.sql.pages import Order, Page, Position, fetch_page
from persistence.tables.service import classifier

TYPES = ("wit", "luis", "bothub")
INTENT_LENGTH = 255

CLASSIFIER_RECORD = declare_record(
    {
        "uuid": classifier.c.uuid,
        "name": classifier.c.name,
        "type": classifier.c.type,
        "intents": classifier.c.intents,
        "created_on": classifier.c.created_on,
    }
)

CLASSIFIERS_ORDER = Order(classifier.c.created_on, classifier.c.id)


def list_classifiers(
    tx: Transaction,
    workspace_id: int,
    position: Position | None,
    size: int,
    *,
    uuid: str | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
) -> Page:
    """The classifiers of a workspace, newest first."""
    conditions = [classifier.c.workspace_id == workspace_id]
    if uuid is not None:
        conditions.append(classifier.c.uuid == uuid)
    if before is not None:
        conditions.append(classifier.c.created_on <= before)
    if after is not None:
        conditions.append(classifier.c.created_on >= after)
    return fetch_page(
        tx,
        record=CLASSIFIER_RECORD,
        source=classifier,
        source_id=classifier.c.id,
        order=CLASSIFIERS_ORDER,
        conditions=conditions,
        position=position,
        size=size,
    )


def read_classifier(tx: Transaction, workspace_id: int, classifier_id: int) -> str:
    """One classifier record as JSON text."""
    mine = (classifier.c.workspace_id == workspace_id) & (classifier.c.id == classifier_id)
    return tx.execute(select(as_text(CLASSIFIER_RECORD)).where(mine)).scalar_one()


def create_classifier(tx: Transaction, workspace_id: int, name: str, kind: str, intents: Sequence[str]) -> int:
    """A new classifier; returns its id. Raises InvalidInput for a bad or taken name or a bad intent."""
    name = check_name(name)
    check_name_is_free(tx, workspace_id, classifier, name)
    if not all(0 < len(intent.strip()) <= INTENT_LENGTH for intent in intents):
        raise InvalidInput.on("intents", f"An intent has 1 to {INTENT_LENGTH} characters.")
    values = {"uuid": new_uuid(), "name": name, "name_key": name_key(name), "type": kind, "created_on": tx.now}
    known = sorted({intent.strip() for intent in intents})
    statement = insert(classifier).values(workspace_id=workspace_id, intents=known, **values)
    return tx.execute(statement.returning(classifier.c.id)).scalar_one()
