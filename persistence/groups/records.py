"""Groups as v2 shows them: the record, and the list with its filters."""

from persistence.lists import ListSpec, equals, named
from persistence.pages import Order
from persistence.records import Record
from persistence.tables.contacts import group

GROUP_RECORD = Record(
    {
        "uuid": group.c.uuid,
        "name": group.c.name,
        "query": group.c.query,
        "status": group.c.status,
        "system": group.c.is_system,
        "count": group.c.member_count,
        "error": group.c.error,
    }
)
GROUPS = ListSpec(
    group,
    GROUP_RECORD,
    Order(group.c.created_on, group.c.id),
    filters={"uuid": equals(group.c.uuid), "name": named(group)},
)
