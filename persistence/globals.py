"""Globals: named values that all flows of a workspace share."""

from persistence.lists import ListSpec, equals, reversible, within
from persistence.sql.json_sql import declare_record
from persistence.tables.service import global_value

GLOBAL_RECORD = declare_record(
    {
        "key": global_value.c.key,
        "name": global_value.c.name,
        "value": global_value.c.value,
        "modified_on": global_value.c.modified_on,
    }
)


GLOBALS = ListSpec(
    global_value,
    GLOBAL_RECORD,
    reversible(global_value.c.modified_on, global_value.c.id),
    filters={"key": equals(global_value.c.key), **within(global_value.c.modified_on)},
    options=frozenset({"reverse"}),
    is_followed=True,
)
