"""Labels of messages."""

from persistence.labels import LABELS
from relayboard.commands.kinds.kind import Kind

KIND = Kind(LABELS)
