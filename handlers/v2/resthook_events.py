"""`/api/v2/resthook_events.json`."""

from handlers.answers import ListAnswer
from persistence.resthooks.subscribers import RESTHOOK_EVENTS

list_resthook_events = ListAnswer(RESTHOOK_EVENTS)
