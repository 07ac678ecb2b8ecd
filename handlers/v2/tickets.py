"""`/api/v2/tickets.json`."""

from handlers.answers import ListAnswer
from persistence.tickets.tickets import TICKETS

list_tickets = ListAnswer(TICKETS)
