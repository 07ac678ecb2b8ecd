"""`/api/v2/boundaries.json`."""

from handlers.answers import ListAnswer
from persistence.boundaries import BOUNDARIES

list_boundaries = ListAnswer(BOUNDARIES)
