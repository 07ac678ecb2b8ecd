"""Texts that a gateway approved in advance."""

from persistence.templates import TEMPLATES
from relayboard.commands.kinds.kind import Kind

KIND = Kind(TEMPLATES)
