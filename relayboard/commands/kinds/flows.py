"""Flows."""

from persistence.flows.v2 import FLOWS
from relayboard.commands.kinds.kind import Kind

KIND = Kind(FLOWS)
