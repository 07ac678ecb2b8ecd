"""Lists of the workspace that moved, as the API shows them."""

import json
from typing import Any

from persistence.lists import ListQuery, ListSpec, read_list


def listed(moving: Any, spec: ListSpec, key: str = "uuid") -> dict[str, Any]:
    """The records of a list here by UUID or another key."""
    with moving.database.reading() as tx:
        records = [json.loads(each) for each in read_list(ListQuery(tx, moving.workspace), spec)]
    return {each[key]: each for each in records}
