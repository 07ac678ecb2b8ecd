"""`/api/v2/flows.json`."""

from handlers.answers import ListAnswer
from persistence.flows.records import FLOWS

list_flows = ListAnswer(FLOWS)
