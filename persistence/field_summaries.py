"""Contact fields as v1 shows them: a letter for the type."""

from sqlalchemy import case, func, select

from persistence.database import Transaction
from persistence.fields import field
from persistence.numbered_pages import NumberedPage, fetch_numbered_page
from persistence.pages import Order
from persistence.shapes import as_text, declare_record

TYPE_LETTERS = {"text": "T", "number": "N", "datetime": "D", "state": "S", "district": "I", "ward": "W"}

FIELD_SUMMARY = declare_record(
    {"key": field.c.key, "label": field.c.name, "value_type": case(TYPE_LETTERS, value=field.c.type)}
)
NEWEST_FIRST = Order(field.c.created_on, field.c.id)


def list_field_summaries(
    tx: Transaction, workspace_id: int, number: int, size: int, *, key_part: str | None = None
) -> NumberedPage:
    """The fields of a workspace, newest first; `key_part` matches anywhere in a key, in any case."""
    conditions = [field.c.workspace_id == workspace_id]
    if key_part is not None:
        conditions.append(func.lower(field.c.key).contains(key_part.lower(), autoescape=True))
    return fetch_numbered_page(
        tx, record=FIELD_SUMMARY, source=field, order=NEWEST_FIRST, conditions=conditions, number=number, size=size
    )


def read_field_summary(tx: Transaction, workspace_id: int, field_id: int) -> str:
    """One field's record as JSON text."""
    mine = (field.c.workspace_id == workspace_id) & (field.c.id == field_id)
    document: str = tx.execute(select(as_text(FIELD_SUMMARY)).where(mine)).scalar_one()
    return document
