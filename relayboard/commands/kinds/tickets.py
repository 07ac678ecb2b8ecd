"""Tickets."""

from persistence.tickets.tickets import TICKETS
from relayboard.commands.kinds.kind import Kind

KIND = Kind(TICKETS)
