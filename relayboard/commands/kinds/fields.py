"""Fields of contacts."""

from persistence.fields import FIELDS
from relayboard.commands.kinds.kind import Kind

KIND = Kind(FIELDS, "key")
