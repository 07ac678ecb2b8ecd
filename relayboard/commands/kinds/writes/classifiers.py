"""Services that find intents."""

from persistence.classifiers import change_classifier, create_classifier
from persistence.database import Transaction
from persistence.workspaces import Workspace
from relayboard.commands.kinds.kind import Writes
from relayboard.usage.parts import Options


def _create(tx: Transaction, workspace: Workspace, given: Options) -> int:
    return create_classifier(tx, workspace.id, given.name, given.type, given.intent)


def _change(tx: Transaction, workspace: Workspace, given: Options) -> int:
    return change_classifier(tx, workspace.id, given.uuid, given.name, given.intent or None)


WRITES = Writes(create=_create, change=_change)
