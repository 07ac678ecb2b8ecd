"""`/api/v1/messages.json`."""

from handlers.answers import NumberedListAnswer
from persistence.messages.v1 import MESSAGES_V1

list_messages = NumberedListAnswer(MESSAGES_V1)
