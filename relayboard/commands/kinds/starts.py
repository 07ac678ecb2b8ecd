"""Flow starts."""

from persistence.flow_starts.v2 import STARTS
from relayboard.commands.kinds.kind import Kind

KIND = Kind(STARTS)
