"""Topics of tickets."""

from persistence.topics import TOPICS, create_topic, rename_topic
from relayboard.commands.kinds.kind import Kind, created, renamed

KIND = Kind(TOPICS, create=created(create_topic), change=renamed(rename_topic))
