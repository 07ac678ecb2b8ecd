"""Labels of messages."""

from persistence.labels import LABELS, create_label, delete_label, rename_label
from relayboard.commands.kinds.kind import Kind, created, deleted, renamed

KIND = Kind(LABELS, create=created(create_label), change=renamed(rename_label), delete=deleted(delete_label))
