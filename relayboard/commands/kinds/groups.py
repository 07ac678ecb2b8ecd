"""Groups of contacts."""

from persistence.groups.v2 import GROUPS
from relayboard.commands.kinds.kind import Kind

KIND = Kind(GROUPS)
