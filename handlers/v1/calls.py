"""`/api/v1/calls.json`."""

from handlers.answers import NumberedListAnswer
from persistence.channels.events import CALLS

list_calls = NumberedListAnswer(CALLS)
