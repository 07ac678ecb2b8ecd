"""`/api/v1/boundaries.json`."""

from handlers.answers import NumberedListAnswer
from persistence.boundaries import BOUNDARIES_V1

list_boundaries = NumberedListAnswer(BOUNDARIES_V1)
