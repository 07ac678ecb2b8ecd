"""Resthooks."""

from persistence.resthooks.resthooks import RESTHOOKS
from relayboard.commands.kinds.kind import Kind

KIND = Kind(RESTHOOKS, key="slug")
