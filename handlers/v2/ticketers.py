"""`/api/v2/ticketers.json`."""

from handlers.answers import ListAnswer
from persistence.ticketers import TICKETERS

list_ticketers = ListAnswer(TICKETERS)
