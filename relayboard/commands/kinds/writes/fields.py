"""Fields of contacts."""

import orjson

from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.fields import FIELDS, create_field
from persistence.lists import ListQuery, find_record
from persistence.workspaces import Workspace
from relayboard.commands.kinds.kind import Writes
from relayboard.usage.parts import Options


def _create(tx: Transaction, workspace: Workspace, given: Options) -> int:
    return create_field(tx, workspace.id, given.name, given.type, access=given.agents)


def _change(tx: Transaction, workspace: Workspace, given: Options) -> int:
    from persistence.fields import change_field  # noqa: PLC0415  # it loads all that names fields

    record = find_record(ListQuery(tx, workspace), FIELDS, "key", given.key)
    if record is None:
        raise RecordMissing
    present = orjson.loads(record)
    return change_field(tx, workspace.id, given.key, given.name or present["name"], given.type or present["type"])


def _delete(tx: Transaction, workspace: Workspace, key: str) -> None:
    from persistence.fields import delete_field  # noqa: PLC0415  # it loads all that names fields

    delete_field(tx, workspace, key)


WRITES = Writes(create=_create, change=_change, delete=_delete)
