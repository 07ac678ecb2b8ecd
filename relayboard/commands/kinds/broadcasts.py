"""Broadcasts."""

from persistence.broadcasts.v2 import BROADCASTS
from relayboard.commands.kinds.kind import Kind

KIND = Kind(BROADCASTS)
