"""`/api/v2/ticketers.json`."""

from handlers.answers import ListAnswer
from persistence.tickets.ticketers import TICKETERS

list_ticketers = ListAnswer(TICKETERS)
