"""Services that find intents."""

from persistence.classifiers import CLASSIFIERS
from relayboard.commands.kinds.kind import Kind

KIND = Kind(CLASSIFIERS)
