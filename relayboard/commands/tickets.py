"""`relayboard ticket open`."""

from persistence.contacts.owners import find_contact
from persistence.database import Transaction
from persistence.lists import read_record
from persistence.sql.columns import is_uuid
from persistence.tickets.actions import NewTicket, open_ticket
from persistence.tickets.records import TICKETS, find_assignee
from persistence.tickets.topics import find_topic
from persistence.workspaces.records import Workspace
from relayboard.commands.output import CommandFailed, print_record, writing_in
from relayboard.usage.parts import Options


def run_open(options: Options) -> None:
    with writing_in(options) as (tx, workspace):
        ticket_id = open_ticket(tx, workspace, _read_ticket(tx, workspace, options))
        if ticket_id is None:
            raise CommandFailed("the contact has an open ticket already")
        record = read_record(tx, TICKETS, workspace, ticket_id)
    print_record(record)


def _read_ticket(tx: Transaction, workspace: Workspace, options: Options) -> NewTicket:
    contact_id = find_contact(tx, workspace.id, options.contact) if is_uuid(options.contact) else None
    if contact_id is None:
        raise CommandFailed(f"there is no contact {options.contact}")
    topic_id = find_topic(tx, workspace.id, options.topic) if options.topic is not None else None
    if options.topic is not None and topic_id is None:
        raise CommandFailed(f"there is no topic {options.topic}")
    assignee_id = find_assignee(tx, workspace.id, options.assignee) if options.assignee is not None else None
    return NewTicket(contact_id, topic_id, assignee_id, options.note)
