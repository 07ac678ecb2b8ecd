"""Triggers."""

from persistence.triggers.triggers import TRIGGERS
from relayboard.commands.kinds.kind import Kind

KIND = Kind(TRIGGERS)
