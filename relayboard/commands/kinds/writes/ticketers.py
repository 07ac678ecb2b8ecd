"""Places where tickets are kept."""

from persistence.database import Transaction
from persistence.ticketers import create_ticketer, rename_ticketer
from persistence.workspaces import Workspace
from relayboard.commands.kinds.kind import Writes, renamed
from relayboard.usage.parts import Options


def _create(tx: Transaction, workspace: Workspace, given: Options) -> int:
    return create_ticketer(tx, workspace.id, given.name, given.type)


WRITES = Writes(create=_create, change=renamed(rename_ticketer))
