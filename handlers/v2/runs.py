"""`/api/v2/runs.json`."""

from handlers.answers import ListAnswer
from persistence.runs.records import RUNS

list_runs = ListAnswer(RUNS)
