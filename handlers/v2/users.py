"""`/api/v2/users.json`."""

from handlers.answers import ListAnswer
from persistence.users import USERS

list_users = ListAnswer(USERS)
