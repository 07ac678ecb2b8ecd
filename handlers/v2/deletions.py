"""`/api/v2/deletions.json`."""

from handlers.answers import ListAnswer
from persistence.deletions import DELETIONS

list_deletions = ListAnswer(DELETIONS)
