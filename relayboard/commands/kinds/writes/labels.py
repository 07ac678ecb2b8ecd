"""Labels of messages."""

from persistence.labels import create_label, delete_label, rename_label
from relayboard.commands.kinds.kind import Writes, created, deleted, renamed

WRITES = Writes(create=created(create_label), change=renamed(rename_label), delete=deleted(delete_label))
