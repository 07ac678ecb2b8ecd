"""Values that flows share."""

from persistence.globals import GLOBALS
from relayboard.commands.kinds.kind import Kind

KIND = Kind(GLOBALS, "key")
