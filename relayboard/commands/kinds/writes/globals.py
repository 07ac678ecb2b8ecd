"""Values that flows share."""

import orjson

from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.globals import GLOBALS, change_global, create_global, delete_global
from persistence.lists import ListQuery, find_record
from persistence.workspaces import Workspace
from relayboard.commands.kinds.kind import Writes, deleted
from relayboard.commands.secret_input import given_text
from relayboard.usage.parts import Options


def _create(tx: Transaction, workspace: Workspace, given: Options) -> int:
    return create_global(tx, workspace.id, given.name, given_text(given, "value") or "")


def _change(tx: Transaction, workspace: Workspace, given: Options) -> int:
    record = find_record(ListQuery(tx, workspace), GLOBALS, "key", given.key)
    if record is None:
        raise RecordMissing
    value = given_text(given, "value")
    stays = str(orjson.loads(record)["value"])
    return change_global(tx, workspace.id, given.key, stays if value is None else value, given.name)


WRITES = Writes(create=_create, change=_change, delete=deleted(delete_global))
