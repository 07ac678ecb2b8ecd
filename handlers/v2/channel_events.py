"""`/api/v2/channel_events.json`."""

from handlers.answers import ListAnswer
from persistence.channels.events import CHANNEL_EVENTS

list_channel_events = ListAnswer(CHANNEL_EVENTS)
