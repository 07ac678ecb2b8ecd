"""Campaigns."""

import orjson

from persistence.campaigns.records import CAMPAIGNS, change_campaign, create_campaign, find_any_group
from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.lists import ListQuery, find_record
from persistence.workspaces import Workspace
from relayboard.commands.kinds.kind import Writes
from relayboard.usage.parts import Options


def _create(tx: Transaction, workspace: Workspace, given: Options) -> int:
    return create_campaign(tx, workspace.id, given.name, find_any_group(tx, workspace.id, given.group, field="group"))


def _change(tx: Transaction, workspace: Workspace, given: Options) -> int:
    record = find_record(ListQuery(tx, workspace), CAMPAIGNS, "uuid", given.uuid)
    if record is None:
        raise RecordMissing
    present = orjson.loads(record)
    group_id = find_any_group(tx, workspace.id, given.group or present["group"]["uuid"], field="group")
    return change_campaign(tx, workspace.id, given.uuid, given.name or present["name"], group_id)


WRITES = Writes(create=_create, change=_change)
