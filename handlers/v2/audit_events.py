"""`/api/v2/audit_events.json`."""

from handlers.answers import ListAnswer
from persistence.audit import AUDIT_EVENTS

list_audit_events = ListAnswer(AUDIT_EVENTS)
