"""Texts that a gateway approved in advance."""

from persistence.database import Transaction
from persistence.templates import Translation, set_translation
from persistence.workspaces import Workspace
from relayboard.commands.kinds.kind import Writes
from relayboard.usage.parts import Options


def _create(tx: Transaction, workspace: Workspace, given: Options) -> int:
    translation = Translation(given.channel, given.locale, given.content, given.namespace, given.status)
    return set_translation(tx, workspace.id, given.name, translation)


WRITES = Writes(create=_create)
