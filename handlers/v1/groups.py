"""`/api/v1/groups.json`."""

from handlers.answers import NumberedListAnswer
from persistence.groups.groups import GROUPS_V1

list_groups = NumberedListAnswer(GROUPS_V1)
