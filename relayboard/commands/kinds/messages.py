"""Messages."""

from persistence.messages.v2 import MESSAGES
from relayboard.commands.kinds.kind import Kind

KIND = Kind(MESSAGES)
