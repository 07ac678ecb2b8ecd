"""Topics of tickets."""

from persistence.topics import create_topic, rename_topic
from relayboard.commands.kinds.kind import Writes, created, renamed

WRITES = Writes(create=created(create_topic), change=renamed(rename_topic))
