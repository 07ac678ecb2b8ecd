"""`/api/v2/channels.json`."""

from handlers.answers import ListAnswer
from persistence.channels.channels import CHANNELS

list_channels = ListAnswer(CHANNELS)
