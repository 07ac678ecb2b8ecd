"""`/api/v2/templates.json`."""

from handlers.answers import ListAnswer
from persistence.templates import TEMPLATES

list_templates = ListAnswer(TEMPLATES)
