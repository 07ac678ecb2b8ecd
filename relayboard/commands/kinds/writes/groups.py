"""Groups of contacts."""

from persistence.database import Transaction
from persistence.groups.groups import create_group, delete_group, rename_group
from persistence.workspaces import Workspace
from relayboard.commands.kinds.kind import Writes, deleted, renamed
from relayboard.usage.parts import Options


def _create(tx: Transaction, workspace: Workspace, given: Options) -> int:
    if given.query is None:
        return create_group(tx, workspace.id, given.name)
    from persistence.groups.smart_groups import create_query_group  # noqa: PLC0415  # it loads the query language

    return create_query_group(tx, workspace, given.name, given.query)


WRITES = Writes(create=_create, change=renamed(rename_group), delete=deleted(delete_group))
