"""Message labels as v1 lists them: filters by part of a name and by several UUIDs."""

from collections.abc import Sequence

from persistence.database import Transaction
from persistence.labels import LABEL_RECORD, label
from persistence.names import name_key
from persistence.numbered_pages import NumberedPage, fetch_numbered_page
from persistence.pages import Order

NEWEST_FIRST = Order(label.c.created_on, label.c.id)


def list_label_summaries(
    tx: Transaction,
    workspace_id: int,
    number: int,
    size: int,
    *,
    uuids: Sequence[str] | None = None,
    name_part: str | None = None,
) -> NumberedPage:
    """The labels of a workspace, newest first; `name_part` matches anywhere in a name, in any case."""
    conditions = [label.c.workspace_id == workspace_id]
    if uuids:
        conditions.append(label.c.uuid.in_(uuids))
    if name_part is not None:
        conditions.append(label.c.name_key.contains(name_key(name_part), autoescape=True))
    return fetch_numbered_page(
        tx, record=LABEL_RECORD, source=label, order=NEWEST_FIRST, conditions=conditions, number=number, size=size
    )
