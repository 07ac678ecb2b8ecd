"""Opt-ins."""

from persistence.optins import OPTINS
from relayboard.commands.kinds.kind import Kind

KIND = Kind(OPTINS)
