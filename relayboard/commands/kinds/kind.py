"""What the commands of one kind of record do."""

from collections.abc import Callable
from dataclasses import dataclass

from persistence.database import Transaction
from persistence.lists import ListSpec
from persistence.workspaces import Workspace
from relayboard.usage.parts import Options

Write = Callable[[Transaction, Workspace, Options], int]
"""Creates or changes the record of the options; returns its id. Raises RecordMissing for one that is not there."""
Delete = Callable[[Transaction, Workspace, str], None]


@dataclass(frozen=True, slots=True)
class Kind:
    """`key` is the attribute that names a record: its UUID, or the key of fields and globals."""

    spec: ListSpec
    key: str = "uuid"


@dataclass(frozen=True, slots=True)
class Writes:
    """What can be done with a kind of record beside reading it."""

    create: Write | None = None
    change: Write | None = None
    delete: Delete | None = None


def created(create: Callable[[Transaction, int, str], int]) -> Write:
    """Records that begin with a name and nothing else."""
    return lambda tx, workspace, given: create(tx, workspace.id, given.name)


def renamed(rename: Callable[[Transaction, int, str, str], int]) -> Write:
    return lambda tx, workspace, given: rename(tx, workspace.id, given.uuid, given.name)


def deleted(delete: Callable[[Transaction, int, str], None]) -> Delete:
    return lambda tx, workspace, key: delete(tx, workspace.id, key)
