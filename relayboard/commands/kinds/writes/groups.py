"""Groups of contacts."""

from persistence.database import Transaction
from persistence.groups.groups import create_group
from persistence.workspaces import Workspace
from relayboard.commands.kinds.kind import Writes
from relayboard.usage.parts import Options


def _create(tx: Transaction, workspace: Workspace, given: Options) -> int:
    if given.query is None:
        return create_group(tx, workspace.id, given.name)
    from persistence.groups.smart_groups import create_query_group  # noqa: PLC0415  # it loads the query language

    return create_query_group(tx, workspace, given.name, given.query)


def _change(tx: Transaction, workspace: Workspace, given: Options) -> int:
    from persistence.groups.groups import rename_group  # noqa: PLC0415  # it loads all that shows groups

    return rename_group(tx, workspace.id, given.uuid, given.name)


def _delete(tx: Transaction, workspace: Workspace, uuid: str) -> None:
    from persistence.groups.groups import delete_group  # noqa: PLC0415  # it loads all that shows groups

    delete_group(tx, workspace.id, uuid)


WRITES = Writes(create=_create, change=_change, delete=_delete)
