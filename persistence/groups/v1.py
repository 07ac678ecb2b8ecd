"""Groups as v1 lists them."""

from collections.abc import Sequence

from persistence.database import Transaction
from persistence.sql.json_sql import declare_record
from persistence.sql.names import name_key
from persistence.sql.numbered_pages import NumberedPage, fetch_numbered_page
from persistence.sql.pages import Order
from persistence.tables.contacts import group

GROUP_SUMMARY = declare_record(
    {"group": group.c.id, "uuid": group.c.uuid, "name": group.c.name, "size": group.c.member_count}
)
NEWEST_FIRST = Order(group.c.created_on, group.c.id)


def list_group_summaries(
    tx: Transaction,
    workspace_id: int,
    number: int,
    size: int,
    *,
    uuids: Sequence[str] | None = None,
    name_part: str | None = None,
) -> NumberedPage:
    """The groups of a workspace, newest first; `name_part` matches anywhere in a name, in any case."""
    conditions = [group.c.workspace_id == workspace_id]
    if uuids:
        conditions.append(group.c.uuid.in_(uuids))
    if name_part is not None:
        conditions.append(group.c.name_key.contains(name_key(name_part), autoescape=True))
    return fetch_numbered_page(
        tx, record=GROUP_SUMMARY, source=group, order=NEWEST_FIRST, conditions=conditions, number=number, size=size
    )
