"""Topics of tickets."""

from persistence.topics import TOPICS
from relayboard.commands.kinds.kind import Kind

KIND = Kind(TOPICS)
