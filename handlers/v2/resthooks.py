"""`/api/v2/resthooks.json`."""

from handlers.answers import ListAnswer
from persistence.resthooks.resthooks import RESTHOOKS

list_resthooks = ListAnswer(RESTHOOKS)
