"""`/api/v1/flows.json`."""

from handlers.answers import NumberedListAnswer
from persistence.flows.records import FLOWS_V1

list_flows = NumberedListAnswer(FLOWS_V1)
