"""Places where tickets are kept."""

from persistence.ticketers import TICKETERS
from relayboard.commands.kinds.kind import Kind

KIND = Kind(TICKETERS)
