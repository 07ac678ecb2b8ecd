"""`relayboard contact list|show`."""

from persistence.contacts.owners import find_contacts
from persistence.contacts.v2 import CONTACTS
from persistence.database import Transaction
from persistence.lists import ListQuery, fetch_list, read_record
from persistence.workspaces import Workspace
from relayboard.commands.output import print_record, print_records, reading_in
from relayboard.usage.parts import Options


def run_list(options: Options) -> None:
    asked = {"query": options.query, "group": options.group}
    with reading_in(options) as (tx, workspace):
        query = ListQuery(tx, workspace, {name: value for name, value in asked.items() if value is not None})
        page = fetch_list(query, CONTACTS, None, options.limit)
    print_records(page.records)


def run_show(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        record = read_record(tx, CONTACTS, workspace, contact_named(tx, workspace, options.contact))
    print_record(record)


def contact_named(tx: Transaction, workspace: Workspace, reference: str) -> int:
    return find_contacts(tx, workspace, [reference], field="contact")[0]
