"""`/api/v1/calls.json`."""

from handlers.answers import NumberedListAnswer
from persistence.channels.calls_v1 import CALLS

list_calls = NumberedListAnswer(CALLS)
